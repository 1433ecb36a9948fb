"""Values that must not be seen."""

import pytest

from ktms.domain.access.secret import Secret


@pytest.mark.parametrize("shown", [repr, str, lambda secret: f"{secret}", lambda secret: f"{[secret]}"])
def test_a_secret_is_never_shown(shown: object) -> None:
    assert callable(shown)
    assert "hunter2" not in shown(Secret("hunter2"))


def test_a_secret_gives_its_text_only_when_asked() -> None:
    assert Secret("hunter2").reveal() == "hunter2"


def test_secrets_compare_by_their_text() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"


def test_a_secret_does_not_hash() -> None:
    with pytest.raises(TypeError):
        hash(Secret("a"))


@pytest.mark.parametrize(("text", "shown"), [("short", ""), ("eleven-char", ""), ("twelve-chars", "hars")])
def test_four_characters_are_shown_of_long_ones_only(text: str, shown: str) -> None:
    assert Secret(text).last4 == shown
