"""Dates as an operator writes them, to and from seconds since 1970; without a zone they are UTC."""

from datetime import UTC, datetime


class MomentInvalid(Exception):
    """Not a date."""


def read_moment(text: str) -> float:
    """Read `2027-01-31` (its first second) or `2027-01-31T12:00:00Z`.

    Raises:
        MomentInvalid: with the reason in words.
    """
    try:
        date = datetime.fromisoformat(text)
        return (date if date.tzinfo is not None else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise MomentInvalid("expected a date such as 2027-01-31 or 2027-01-31T12:00:00Z") from error


def write_moment(at_s: float) -> str:
    """Write seconds since 1970 as a date and time in UTC, exact to the microsecond."""
    return datetime.fromtimestamp(at_s, UTC).isoformat().replace("+00:00", "Z")
