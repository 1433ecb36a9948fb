"""Days as an operator names them: `2027-01-31`, or `7d` for the first of the last seven days, today included."""

import re
from datetime import date

import click

EPOCH_ORDINAL = date(1970, 1, 1).toordinal()

DAYS_BACK_MAX = 36_500
"""A hundred years: more is a slip of the keyboard."""

_BACK = re.compile(r"(\d{1,6})d")


class Day(click.ParamType[str]):
    """A day in UTC; the value is its text, which `day_number` reads once today is known."""

    name = "day"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the form."""
        try:
            day_number(value, today=DAYS_BACK_MAX)
        except ValueError:
            self.fail(f"expected a day such as 2027-01-31, or 7d for the last 7 days; got {value!r}", param, ctx)
        return value


def day_number(text: str, *, today: int) -> int:
    """Give the day as days since 1970.

    Raises:
        ValueError: neither form.
    """
    back = _BACK.fullmatch(text)
    if back is None:
        return date.fromisoformat(text).toordinal() - EPOCH_ORDINAL
    days = int(back[1])
    if not 1 <= days <= DAYS_BACK_MAX:
        raise ValueError(text)
    return max(0, today - days + 1)
