"""What Ollama's pages say."""

import pytest

from ktms.node.engines.ollama_pages import (
    ONE_AT_A_TIME,
    Loaded,
    Shown,
    Tag,
    chats,
    loaded_as,
    read_ps,
    read_show,
    read_tags,
)

CARD = {"name": "qwen3:4b", "digest": "d1", "details": {"family": "qwen3", "format": "gguf"}}


def test_a_tag_tells_what_it_is() -> None:
    more = {"capabilities": ["completion"], "details": {"family": "qwen35", "context_length": 40_960}}
    assert read_tags({"models": [CARD | more]}) == (
        Tag("qwen3:4b", "d1", "qwen35", able=("completion",), trained=40_960),
    )


@pytest.mark.parametrize(
    "stub",
    [
        {"remote_host": "https://ollama.example"},
        {"remote_model": "big"},
        {"name": "big:cloud"},
        {"name": "b-cloud"},
    ],
)
def test_a_stub_for_a_cloud_is_no_model_of_this_machine(stub: dict[str, str]) -> None:
    assert read_tags({"models": [CARD | stub]}) == ()


@pytest.mark.parametrize("page", [None, [], {"models": None}, {"models": [7, {}, {"name": 7}]}])
def test_odd_pages_hold_nothing(page: object) -> None:
    assert read_tags(page) == ()
    assert read_ps(page) == ()
    assert read_show(page) == Shown()


@pytest.mark.parametrize(
    ("on_gpu", "size", "share"),
    [(4, 4, 1.0), (1, 4, 0.25), (0, 4, 0.0), (8, 4, 1.0), (None, 4, None), (4, 0, None), (-1, 4, None)],
)
def test_the_share_on_the_gpu_is_that_of_the_bytes(on_gpu: object, size: object, share: float | None) -> None:
    (one,) = read_ps({"models": [{"name": "m", "size_vram": on_gpu, "size": size}]})
    assert one.on_gpu == share


def test_details_hold_the_modelfiles_window_and_the_weights() -> None:
    page = {
        "parameters": 'num_keep 24\nnum_ctx                        8192\nstop "num_ctx 1"',
        "modelfile": f"# FROM x\nFROM /m/blobs/sha256-{'cd' * 32}\nTEMPLATE y",
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
        "capabilities": ["embedding"],
    }
    assert read_show(page) == Shown(8192, 40_960, ("embedding",), "cd" * 32)


@pytest.mark.parametrize(
    ("able", "does"), [(None, True), ((), True), (("completion", "vision"), True), (("embedding",), False)]
)
def test_what_only_embeds_is_not_for_chats(able: tuple[str, ...] | None, does: bool) -> None:
    assert chats(able) is does


def test_a_model_in_memory_is_found_by_name_or_digest() -> None:
    loaded = (Loaded("Library/qwen3:4b", "", ""), Loaded("b:latest", "d2", ""))
    assert loaded_as(Tag("b", ""), loaded) == loaded[1]
    assert loaded_as(Tag("copy:latest", "d2"), loaded) == loaded[1]
    assert loaded_as(Tag("c:latest", ""), loaded) is None


def test_mlx_and_some_families_serve_one_at_a_time() -> None:
    assert Tag("m", "", is_mlx=True).is_alone
    assert all(Tag("m", "", family).is_alone for family in ONE_AT_A_TIME)
    assert not Tag("m", "", "llama").is_alone
