"""Limits as written."""

from ktms.domain.access.limits import UNLIMITED, Limits


def test_nothing_is_limited_unless_something_is_said() -> None:
    assert not UNLIMITED.any
    assert not Limits().any


def test_zero_is_a_limit() -> None:
    assert Limits(rpm=0).any
