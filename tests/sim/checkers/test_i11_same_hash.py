"""I11: same seed, same hash."""

from sim.checkers.i11_same_hash import check
from tests.sim.checkers.story import Story, said


def hashed(*values: str) -> Story:
    story = Story()
    for value in values:
        story.note("hash", value=value)
    return story


def test_equal_hashes_are_right() -> None:
    assert said(check, hashed("aa", "aa", "aa")) == []


def test_another_hash_is_found() -> None:
    assert said(check, hashed("aa", "aa", "bb")) == ["execution 3 has hash bb, the first one aa"]
