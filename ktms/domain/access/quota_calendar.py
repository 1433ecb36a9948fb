"""Days and months of limits: UTC, as whole numbers, from an instant in microseconds since 1970.

The scripts in Redis do the same arithmetic, which has no calendar at hand; so neither has this. Months are counted
from March, so that the leap day is the last of its year (proleptic Gregorian calendar).
"""

DAY_US = 86_400_000_000

_ERA_DAYS = 146_097
"""400 years; after so many days the calendar repeats."""

_ERA_TO_1970 = 719_468
"""Days from the first of March of year 0 to the first of January 1970."""


def day_of(now_us: int) -> int:
    """Give the days since 1970."""
    return now_us // DAY_US


def month_of(day: int) -> int:
    """Give the month of a day: year * 12 + month - 1."""
    era, day_of_era = divmod(day + _ERA_TO_1970, _ERA_DAYS)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    from_march = (5 * day_of_year + 2) // 153
    return (400 * era + year_of_era) * 12 + from_march + 2


def first_day_of(month: int) -> int:
    """Give the day that a month begins with."""
    year, from_march = divmod(month - 2, 12)
    era, year_of_era = divmod(year, 400)
    day_of_era = 365 * year_of_era + year_of_era // 4 - year_of_era // 100 + (153 * from_march + 2) // 5
    return era * _ERA_DAYS + day_of_era - _ERA_TO_1970
