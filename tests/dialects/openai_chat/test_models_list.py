"""What engines answer to `GET /v1/models`."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.dialects.openai_chat.models_list import MAX_MODELS, ModelsList, read_models, usable_window
from ktms.domain.capacity.node_report import ModelReport
from ktms.domain.ids import VendorModel

AGENT = {
    "loaded": True,
    "context_window": 8192,
    "slots": 4,
    "busy": 1,
    "engine": "ollama",
    "engine_version": "0.33.0",
    "on_gpu": True,
    "tokens_per_second": 41.5,
}


def read(*entries: object) -> ModelsList:
    told = read_models(json.dumps({"object": "list", "data": entries}).encode())
    assert told is not None
    return told


def report(**entry: object) -> ModelReport:
    return read({"id": "m", **entry}).models[VendorModel("m")]


def test_an_agent_tells_everything() -> None:
    told = read({"id": "qwen3:4b", "object": "model", "ktms": AGENT})

    models = {VendorModel("qwen3:4b"): ModelReport(loaded=True, window=8192, tokens_per_s=41.5)}
    assert told == ModelsList(models, 4, 1, "ollama", "0.33.0", on_gpu=True)
    assert told.ids == ("qwen3:4b",)


def test_slots_and_busy_are_those_of_the_engine_and_not_added_up() -> None:
    told = read({"id": "a", "ktms": AGENT}, {"id": "b", "ktms": AGENT | {"busy": 2, "on_gpu": False}}, {"id": "c"})

    assert (told.slots, told.busy, told.on_gpu) == (4, 2, False)


def test_ollama_tells_names() -> None:
    told = read({"id": "qwen3:4b", "object": "model", "created": 1, "owned_by": "library"}, {"id": "b:latest"})

    assert told == ModelsList({VendorModel("qwen3:4b"): ModelReport(), VendorModel("b:latest"): ModelReport()})


def test_ollama_without_a_model_has_an_empty_list() -> None:
    assert read_models(b'{"object":"list","data":null}') == ModelsList()
    assert read() == ModelsList()


def test_vllm_tells_its_window() -> None:
    assert report(root="/w", parent=None, max_model_len=32_768) == ModelReport(window=32_768)


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ({"meta": {"n_ctx_train": 131_072}}, ModelReport(loaded=True)),
        ({"meta": {"n_ctx_train": 131_072, "n_ctx": 1024}}, ModelReport(loaded=True, window=1024)),
        ({"meta": None}, ModelReport(loaded=False)),
        ({}, ModelReport()),
        ({"status": {"value": "loaded"}}, ModelReport(loaded=True)),
        ({"status": {"value": "loading"}}, ModelReport(loaded=False)),
        ({"status": {"value": "sleeping"}}, ModelReport(loaded=False)),
        ({"status": "unloaded"}, ModelReport(loaded=False)),
        ({"status": {"value": ""}}, ModelReport()),
        ({"status": 7}, ModelReport()),
    ],
)
def test_n17_llama_cpp_tells_whether_a_model_is_loaded(entry: dict[str, object], found: ModelReport) -> None:
    assert report(owned_by="llamacpp", **entry) == found


def test_a_null_meta_of_another_engine_says_nothing() -> None:
    assert report(meta=None, owned_by="somebody") == ModelReport()


@pytest.mark.parametrize(
    "facts",
    [
        {"loaded": 1, "context_window": 0, "tokens_per_second": 0},
        {"loaded": "yes", "context_window": True, "tokens_per_second": True},
        {"context_window": 10**9, "tokens_per_second": 1e300},
        {"context_window": "8192", "tokens_per_second": -1},
        {"context_window": 8192.0, "tokens_per_second": "fast"},
        {"slots": 0, "busy": -1, "engine": "", "engine_version": "x" * 65, "on_gpu": "no"},
        {"slots": True, "busy": 1e3, "engine": "a\nb", "engine_version": 7, "on_gpu": None},
    ],
)
def test_nonsense_is_not_known_and_never_zero(facts: dict[str, object]) -> None:
    assert read({"id": "m", "ktms": facts}) == ModelsList({VendorModel("m"): ModelReport()})


@pytest.mark.parametrize(
    "entry", [None, 7, "m", [], {}, {"id": None}, {"id": ""}, {"id": "x" * 257}, {"id": "\n"}]
)
def test_an_entry_without_a_name_is_left_out(entry: object) -> None:
    assert read(entry, {"id": "m"}).ids == ("m",)


def test_of_one_name_told_twice_the_first_counts() -> None:
    assert read({"id": "m", "max_model_len": 1}, {"id": "m", "max_model_len": 2}).models == {
        VendorModel("m"): ModelReport(window=1)
    }


def test_a_list_without_end_is_cut() -> None:
    assert len(read(*({"id": str(number)} for number in range(MAX_MODELS + 1))).ids) == MAX_MODELS


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b"{}", b'{"data":{}}', b'{"data":7}', b'{"data":' + b"[" * 5000, b"\xff"],
)
def test_what_is_no_list_of_models_is_none(body: bytes) -> None:
    assert read_models(body) is None


@pytest.mark.parametrize(
    ("told", "slots", "usable"), [(1024, 4, 256), (1024, 1, 1024), (1024, 0, 1024), (2, 4, 1), (None, 4, None)]
)
def test_n20_slots_that_may_share_one_window_get_a_part_each(
    told: int | None, slots: int, usable: int | None
) -> None:
    assert usable_window(told, slots) == usable


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "ktms", "meta", "status", "value", "loaded", "slots", "on_gpu", "n_ctx"]), inner
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.lists(JSON | st.fixed_dictionaries({"id": st.text(max_size=3), "ktms": JSON, "status": JSON})))
def test_no_list_whatever_makes_it_raise(entries: list[object]) -> None:
    told = read_models(json.dumps({"data": entries}).encode())
    assert told is not None
    assert len(told.models) <= len(entries)
