"""How long a target asks to be left alone, in every way that is met: seconds, a date, milliseconds, nonsense."""

import re
from collections.abc import Callable
from email.utils import formatdate, parsedate_to_datetime

from sim.seed import Chance

Headers = tuple[tuple[str, str], ...]
Wall = Callable[[], float]
"""The target's wall clock, in seconds since 1970."""

REST_MAX_S = 20
"""The longest rest that is drawn: within the faults of a world, so that its end is seen."""

ABSURD = ("-5", "soon", "99999999999999999999", "Wed, 31 Feb 2026 25:61:00 GMT", "1e9", "")


def rest_of(seconds: float, chance: Chance, wall: Wall | None) -> Headers:
    """Say how long, in a way that is drawn; dates only where there is a clock. Negative: nonsense."""
    if seconds < 0:
        return (("Retry-After", chance.pick(ABSURD)),)
    way = chance.between(0, 2 if wall is not None else 1)
    if way == 0 and seconds == int(seconds):
        return (("Retry-After", str(int(seconds))),)
    if way == 2 and wall is not None:
        now = wall()
        return (("Date", formatdate(now, usegmt=True)), ("Retry-After", formatdate(now + seconds, usegmt=True)))
    return (("retry-after-ms", str(int(seconds * 1000))),)


def told_s(headers: Headers, wall: Wall | None) -> float | None:
    """Read how many seconds these headers ask for; None where they say nothing that could be meant."""
    named = {name.lower(): value for name, value in headers}
    number = re.compile(r"[0-9]{1,15}")
    if number.fullmatch(named.get("retry-after-ms", "")):
        return int(named["retry-after-ms"]) / 1000
    text = named.get("retry-after", "")
    if number.fullmatch(text):
        return float(text)
    if wall is None or not text.endswith(" GMT"):
        return None
    try:
        return parsedate_to_datetime(text).timestamp() - wall()
    except ValueError:
        return None


def any_rest(chance: Chance, wall: Wall | None) -> Headers:
    """Say nothing, something sensible or something absurd."""
    way = chance.unit()
    if way < 0.25:
        return ()
    if way < 0.4:
        return (("Retry-After", chance.pick(ABSURD)),)
    return rest_of(float(chance.between(1, REST_MAX_S)), chance, wall)
