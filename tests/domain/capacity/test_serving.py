"""Which machine serves which model."""

import pytest

from ktms.domain.capacity.serving import is_other_model, name_on, same_model, unlisted, window_on, with_tag
from ktms.domain.catalogue import EngineKind
from ktms.domain.ids import NodeName, VendorModel
from ktms.domain.snapshot import Node, Origin, Reach


def node(windows: dict[str, int | None]) -> Node:
    return Node(
        NodeName("mac-1"),
        Origin("http", "10.0.0.7", 8790, "", Reach.NODE),
        EngineKind.OLLAMA,
        None,
        None,
        4,
        4,
        {VendorModel(name): window for name, window in windows.items()},
        None,
    )


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("qwen3", "qwen3:latest"),
        ("qwen3:4b", "qwen3:4b"),
        ("host:5000/qwen3", "host:5000/qwen3:latest"),
        ("host:5000/qwen3:4b", "host:5000/qwen3:4b"),
    ],
)
def test_the_default_tag_is_spelled_out(name: str, spelled: str) -> None:
    assert with_tag(name) == spelled


@pytest.mark.parametrize(
    ("served", "wanted", "found"),
    [
        ("qwen3:4b", "qwen3:4b", "qwen3:4b"),
        ("qwen3:latest", "qwen3", "qwen3:latest"),
        ("qwen3", "qwen3:latest", "qwen3"),
        ("qwen3:4b", "qwen3", None),
        ("qwen3:4b", "Qwen3:4b", None),
    ],
)
def test_names_match_exactly_but_for_the_default_tag(served: str, wanted: str, found: str | None) -> None:
    assert name_on(node({served: 8192}), VendorModel(wanted)) == found


def test_a_window_is_found_under_either_spelling() -> None:
    assert window_on(node({"qwen3:latest": 8192}), VendorModel("qwen3")) == 8192


def test_a_window_may_be_unknown() -> None:
    assert window_on(node({"qwen3": None}), VendorModel("qwen3")) is None
    assert window_on(node({"qwen3": 8192}), VendorModel("other")) is None


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("qwen3:4b", "qwen3:4b"),
        ("qwen3", "qwen3:latest"),
        ("qwen3:latest", "qwen3"),
        ("Qwen3:4B", "qwen3:4b"),
        ("qwen3:4b", "registry.ollama.ai/library/qwen3:4b"),
        ("library/qwen3", "qwen3:latest"),
        ("mistralai/x", "registry.ollama.ai/mistralai/x:latest"),
        ("host:5000/qwen3", "host:5000/qwen3:latest"),
        ("Qwen/Qwen3-4B", "Qwen/Qwen3-4B"),
        ("/models/a.gguf", "/models/a.gguf"),
    ],
)
def test_n27_names_that_mean_one_model_are_the_same(asked: str, told: str) -> None:
    assert same_model(asked, told)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("qwen3:4b", "qwen3:8b"),
        ("qwen3:4b", "qwen3"),
        ("qwen3", "llama3"),
        ("a/qwen3", "b/qwen3"),
        ("qwen3", "a/qwen3"),
        ("host:5000/qwen3", "qwen3"),
        ("qwen3", ""),
        ("qwen3", "/models/qwen3.gguf"),
    ],
)
def test_n27_another_model_is_another_one(asked: str, told: str) -> None:
    assert not same_model(asked, told)


@pytest.mark.parametrize(
    ("told", "expected", "other"),
    [
        ("qwen3", (), False),
        ("qwen3", ("qwen3:latest",), False),
        ("mistral", ("qwen3:latest",), True),
        ("mistral", ("qwen3", "mistral"), False),
    ],
)
def test_fn5_an_answer_must_name_one_of_the_expected_models(
    told: str, expected: tuple[str, ...], other: bool
) -> None:
    assert is_other_model(told, tuple(VendorModel(name) for name in expected)) is other


@pytest.mark.parametrize(
    ("declared", "listed"),
    [
        ("qwen3", "qwen3:latest"),
        ("Qwen3-4B-Q4", "/models/qwen3-4b-q4.gguf"),
        ("qwen3-4b", "C:\\models\\qwen3-4b.gguf"),
        ("org/model", "model.gguf"),
    ],
)
def test_a_model_is_listed_under_its_name_or_that_of_its_file(declared: str, listed: str) -> None:
    assert unlisted(node({declared: None}), ("other", listed)) == []


def test_a_model_that_an_engine_does_not_list_is_named() -> None:
    assert unlisted(node({"qwen3": None, "gone": 8192}), ("qwen3",)) == ["gone"]
