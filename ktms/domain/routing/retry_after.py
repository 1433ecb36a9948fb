"""How long a vendor asks us to wait: `Retry-After` in seconds or as a date, `retry-after-ms`.

Nonsense is None, so that the caller's default holds: negative, not a number, not a date (RFC 9110, 10.2.3). A date
is counted from the answer's own `Date`, which is of the same clock: ours may be wrong by hours (FG5).
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_tz

from ktms.domain.routing.cooldown import REST_MAX_S
from ktms.domain.units import MS_PER_S

_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_DATE = re.compile(r"[A-Za-z]{3,9},? [A-Za-z0-9: +-]{16,40}")


def retry_after_s(header: Callable[[str], str | None], wall: float) -> float | None:
    """Read how many seconds to wait, at most REST_MAX_S; None where nothing usable was said.

    `header` gives a response header by lower-case name; `wall` is seconds since 1970 UTC, used where the answer
    has no `Date`. `retry-after-ms` is the more precise one, so it is read first. A date that has passed is 0.
    """
    told_ms = _number(header("retry-after-ms"))
    if told_ms is not None:
        return min(told_ms / MS_PER_S, REST_MAX_S)
    text = header("retry-after")
    told_s = _number(text)
    if told_s is None and text is not None:
        moment = _moment(text.strip())
        told_s = None if moment is None else max(0.0, moment - _sent_at(header, wall))
    return None if told_s is None else min(told_s, REST_MAX_S)


def _number(text: str | None) -> float | None:
    if text is None or not _NUMBER.fullmatch(text.strip()):
        return None
    return float(text)


def _sent_at(header: Callable[[str], str | None], wall: float) -> float:
    """Give when the answer was sent, by the vendor's clock where it tells, else by ours."""
    date = header("date")
    moment = None if date is None else _moment(date.strip())
    return wall if moment is None else moment


def _moment(text: str) -> float | None:
    """Read any of the three date forms of RFC 9110, 5.6.7; None for all else."""
    if not _DATE.fullmatch(text):
        return None
    try:
        parts = parsedate_tz(text)
        if parts is None:
            return None
        moment = datetime(*parts[:6], tzinfo=UTC)  # unlike the parser, it knows that February has no 31st
        return moment.timestamp() - (parts[9] or 0)
    except (ValueError, TypeError, IndexError, OverflowError):  # the parser raises all of these on strange dates
        return None
