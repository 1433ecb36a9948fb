"""Readable names."""

import pytest

from ktms.adapters.discovery.names import readable, usable


@pytest.mark.parametrize(
    ("engine_name", "public"),
    [
        ("/home/me/models/Qwen3-4B-Q4_K_M.gguf", "Qwen3-4B-Q4_K_M"),
        ("models/tiny.gguf", "tiny"),
        ("C:\\models\\tiny.gguf", "tiny"),
        ("./tiny.gguf", "tiny"),
        ("/srv/models/llama", "llama"),
        ("llama3.2:latest", "llama3.2"),
        ("qwen3:4b", "qwen3:4b"),
        ("Qwen/Qwen3-4B", "Qwen/Qwen3-4B"),
        ("my model (new).gguf", "my-model-new"),
        ("한글", None),
        ("", None),
    ],
)
def test_a_name_has_no_path_and_no_suffix(engine_name: str, public: str | None) -> None:
    assert readable(engine_name) == public


def test_a_name_fits_the_catalogue() -> None:
    assert len(readable("x" * 1000) or "") == 128


def test_a_name_the_catalogue_cannot_hold_is_not_usable() -> None:
    assert usable("a b")
    assert not usable("a\nb")
    assert not usable("x" * 300)
