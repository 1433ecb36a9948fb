"""Days and months of limits, held against the calendar of the standard library."""

from datetime import date, timedelta

import pytest

from ktms.domain.access.quota_calendar import DAY_US, day_of, first_day_of, month_of

EPOCH = date(1970, 1, 1)


def days_since(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - EPOCH).days


@pytest.mark.parametrize("year", [1970, 1999, 2000, 2024, 2026, 2100, 2400])
def test_every_day_of_a_year_is_in_its_month(year: int) -> None:
    for number in range(366):
        day = date(year, 1, 1) + timedelta(number)
        month = month_of((day - EPOCH).days)
        assert month == day.year * 12 + day.month - 1
        assert first_day_of(month) == days_since(day.year, day.month, 1)


def test_a_day_ends_at_midnight_utc() -> None:
    assert day_of(DAY_US - 1) == 0
    assert day_of(DAY_US) == 1


def test_the_leap_day_is_the_last_of_february() -> None:
    assert month_of(days_since(2028, 2, 29)) + 1 == month_of(days_since(2028, 3, 1))


def test_a_month_begins_in_the_next_year_after_december() -> None:
    assert first_day_of(month_of(days_since(2026, 12, 31)) + 1) == days_since(2027, 1, 1)
