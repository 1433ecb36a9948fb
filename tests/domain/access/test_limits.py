"""Limits as written."""

import pytest

from ktms.domain.access.limits import UNLIMITED, Limits


def test_nothing_is_limited_unless_something_is_said() -> None:
    assert not UNLIMITED.any
    assert not Limits().any


def test_zero_is_a_limit() -> None:
    assert Limits(rpm=0).any


@pytest.mark.parametrize(
    ("limits", "dollars"),
    [
        (Limits(rpm=1, tpm=2, concurrent=3), False),
        (Limits(usd_per_day_micros=0), True),
        (Limits(usd_per_month_micros=1), True),
    ],
)
def test_it_is_told_whether_dollars_are_limited(limits: Limits, *, dollars: bool) -> None:
    assert limits.dollars is dollars
