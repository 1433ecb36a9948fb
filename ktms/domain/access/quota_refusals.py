"""Which limit is in the way of a call, and for how long.

The wait is the real one: after exactly so long the call passes, if nobody else asks meanwhile. Only the end of a
call that runs is known to nobody. Not here: what a call moves when nothing refuses (`quota_counters.py`).
"""

from collections.abc import Iterator, Sequence

from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import WINDOW_US, Limit, Refusal
from ktms.domain.access.quota_calendar import DAY_US, first_day_of
from ktms.domain.access.quota_counters import Counters, Share

CONCURRENT_WAIT_MS = 1_000
"""Nobody knows when a call will end; soon is the best guess."""

_US_PER_MS = 1_000
_NEVER_MS = -1


def refusal(
    accounts: Sequence[tuple[Limits, Share]], counters: Sequence[Counters], micros: int, now_us: int
) -> Refusal | None:
    """Say what is in the way longest, the first of its kind; None where nothing is.

    `accounts` are the limits of each and what the call would take of it; counters are of `now_us`.
    """
    found: Refusal | None = None
    for at, ((limits, share), its) in enumerate(zip(accounts, counters, strict=True)):
        for limit, wait_ms in _obstacles(limits, its, share, micros, now_us):
            if wait_ms == _NEVER_MS:
                return Refusal(at, limit, None)
            if found is None or found.wait_ms is None or wait_ms > found.wait_ms:
                found = Refusal(at, limit, wait_ms)
    return found


def _obstacles(
    limits: Limits, its: Counters, share: Share, micros: int, now_us: int
) -> Iterator[tuple[Limit, int]]:
    """Yield each limit that refuses, with its wait; limits of dollars pass what costs nothing."""
    for limit, share_us, at_us in (
        (Limit.REQUESTS, share.requests_us, its.requests_at_us),
        (Limit.TOKENS, share.tokens_us, its.tokens_at_us),
    ):
        if share_us > WINDOW_US:
            yield limit, _NEVER_MS
        elif share_us and (over_us := at_us + share_us - now_us - WINDOW_US) > 0:
            yield limit, _ms(over_us)
    if limits.concurrent is not None and its.running >= limits.concurrent:
        yield Limit.CONCURRENT, CONCURRENT_WAIT_MS if limits.concurrent else _NEVER_MS
    day_micros, month_micros = its.day_settled + its.day_reserved, its.month_settled + its.month_reserved
    for limit, most, counted, ends_on in (
        (Limit.DAY, limits.usd_per_day_micros, day_micros, its.day + 1),
        (Limit.MONTH, limits.usd_per_month_micros, month_micros, first_day_of(its.month + 1)),
    ):
        if most is not None and micros and counted + micros > most:
            yield limit, _NEVER_MS if micros > most else _ms(ends_on * DAY_US - now_us)


def _ms(us: int) -> int:
    return -(-us // _US_PER_MS)
