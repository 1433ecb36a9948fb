"""Limits as arithmetic: what a call moves when it is reserved, settled, given back. Integers only.

A rate is one integer, the instant at which its bucket is full again (GCRA). What is given back to a bucket is
never more than what it has not refilled by itself since. Dollars count what is settled and what is reserved apart;
a call belongs to the day and month in which it was reserved, whenever it ends. The scripts in Redis do the same,
step by step. Not here: what refuses (`quota_refusals.py`), where the counters lie (ports/quota_store.py).
"""

from dataclasses import dataclass, replace

from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import WINDOW_US, AccountState, Spent
from ktms.domain.access.quota_calendar import day_of, month_of

TOKENS_MAX = 100_000_000
"""More than this a call does not count: times a minute in microseconds it stays exact in a double (2**53)."""

MICROS_MAX = 1_000_000_000_000
"""A call of a million dollars is somebody's error; thousands of them still add up exactly in a double."""

AMOUNT_MAX = 4_000_000_000_000_000
"""Four times the largest limit that can be written: amounts stop here, where a double is still exact."""

DEBT_MAX_US = 60 * WINDOW_US
"""A wrong count of tokens bars an account for an hour at most."""

OVERSIZE_US = 2 * WINDOW_US
"""The share of a call that no bucket is large enough for."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one call takes of one account's buckets; 0 where nothing is limited."""

    requests_us: int = 0
    tokens_us: int = 0


@dataclass(frozen=True, slots=True)
class Counters:
    """What is counted of one account.

    `tokens_since_us`: when the bucket of tokens was full last; what was reserved before is refilled. `read`: the
    ledger has been asked, so that the amounts are worth something.
    """

    requests_at_us: int = 0
    tokens_at_us: int = 0
    tokens_since_us: int = 0
    running: int = 0
    read: bool = False
    day: int = 0
    day_settled: int = 0
    day_reserved: int = 0
    month: int = 0
    month_settled: int = 0
    month_reserved: int = 0


NEW = Counters()


@dataclass(frozen=True, slots=True)
class Part:
    """What one call has reserved of one account; its share of the bucket of tokens ends at `tokens_end_us`.

    `day` and `month` are those that the account counted in.
    """

    at_us: int
    micros: int
    day: int
    month: int
    share: Share = Share()
    tokens_end_us: int = 0


def bounded_tokens(tokens: int) -> int:
    """Give what is counted of so many tokens."""
    return min(max(tokens, 0), TOKENS_MAX)


def bounded_micros(micros: int) -> int:
    """Give what is counted of so many micro-dollars."""
    return min(max(micros, 0), MICROS_MAX)


def share_of(limits: Limits, tokens: int) -> Share:
    """Give the share of a call, rounded down so that a whole minute's worth fits into a minute."""
    return Share(share_us(limits.rpm, 1), share_us(limits.tpm, bounded_tokens(tokens)))


def share_us(limit: int | None, amount: int) -> int:
    """Give what a bounded amount takes of the bucket of one limit."""
    if limit is None or amount == 0:
        return 0
    return amount * WINDOW_US // limit if limit > 0 else OVERSIZE_US


def state_of(counters: Counters, now_us: int) -> AccountState:
    """Give what is told of counters that are of `now_us`."""
    return AccountState(
        max(0, counters.requests_at_us - now_us),
        max(0, counters.tokens_at_us - now_us),
        counters.running,
        counters.day_settled + counters.day_reserved,
        counters.month_settled + counters.month_reserved,
    )


def roll(counters: Counters, now_us: int) -> Counters:
    """Begin the day and the month of `now_us`, unless they have begun; neither goes back.

    Buckets filled while a server's clock was ahead bar nobody for longer than a minute, or than a debt.
    """
    day = day_of(now_us)
    its = replace(
        counters,
        requests_at_us=min(counters.requests_at_us, now_us + WINDOW_US),
        tokens_at_us=min(counters.tokens_at_us, now_us + DEBT_MAX_US),
    )
    if day <= counters.day:
        return its
    month = month_of(day)
    begun = replace(its, day=day, day_settled=0, day_reserved=0)
    return begun if month == counters.month else replace(begun, month=month, month_settled=0, month_reserved=0)


def reserve(counters: Counters, share: Share, micros: int, now_us: int) -> tuple[Counters, Part]:
    """Reserve a call's part; the counters are of `now_us`, and nothing refused."""
    after = counters
    if share.requests_us:
        after = replace(after, requests_at_us=max(after.requests_at_us, now_us) + share.requests_us)
    if share.tokens_us:
        after = _with_tokens(after, share.tokens_us, now_us)
    ends_us = after.tokens_at_us if share.tokens_us else 0
    part = Part(now_us, micros, counters.day, counters.month, share, ends_us)
    return _begun(after, part), part


def take_up(counters: Counters, micros: int, now_us: int) -> tuple[Counters, Part]:
    """Count a call under way that was lost; what it took of buckets was lost with it and is charged at its end."""
    part = Part(now_us, micros, counters.day, counters.month)
    return _begun(counters, part), part


def settle(counters: Counters, part: Part, used: Share, micros: int, now_us: int) -> Counters:
    """Put what was used in the place of a part."""
    after = replace(counters, running=max(0, counters.running - 1))
    more_us = used.tokens_us - part.share.tokens_us
    if more_us > 0:
        after = _with_tokens(after, more_us, now_us)
    elif part.at_us >= after.tokens_since_us:
        unfilled_us = min(-more_us, max(0, part.tokens_end_us - now_us))
        after = replace(after, tokens_at_us=after.tokens_at_us - unfilled_us)
    return _with_dollars(after, part, -part.micros, micros)


def give_back_request(counters: Counters, part: Part, now_us: int) -> Counters:
    """Give back the request itself, of a call that used nothing."""
    unfilled_us = max(0, part.share.requests_us - (now_us - part.at_us))
    return replace(counters, requests_at_us=counters.requests_at_us - unfilled_us)


def charge(counters: Counters, part: Part, used: Share, micros: int, now_us: int) -> Counters:
    """Count what a call used whose part was given back before."""
    after = _with_tokens(counters, used.tokens_us, now_us) if used.tokens_us else counters
    return _with_dollars(after, part, 0, micros)


def raise_to(counters: Counters, spent: Spent, now_us: int) -> Counters:
    """Raise what is settled to at least what the ledger knows; amounts of other days and months are not taken."""
    after = roll(replace(counters, read=True), now_us)
    if spent.day == after.day:
        after = replace(after, day_settled=max(after.day_settled, min(spent.day_micros, AMOUNT_MAX)))
    if spent.month == after.month:
        after = replace(after, month_settled=max(after.month_settled, min(spent.month_micros, AMOUNT_MAX)))
    return after


def _begun(counters: Counters, part: Part) -> Counters:
    return _with_dollars(replace(counters, running=counters.running + 1), part, part.micros, 0)


def _with_tokens(counters: Counters, us: int, now_us: int) -> Counters:
    """Take from the bucket of tokens; one that is full begins anew."""
    full = counters.tokens_at_us <= now_us
    return replace(
        counters,
        tokens_at_us=min(max(counters.tokens_at_us, now_us) + us, now_us + DEBT_MAX_US),
        tokens_since_us=now_us if full else counters.tokens_since_us,
    )


def _with_dollars(counters: Counters, part: Part, reserved: int, settled: int) -> Counters:
    """Move the amounts of the part's own day and month, as far as they are still counted."""
    after = counters
    if part.day == after.day:
        after = replace(
            after,
            day_reserved=max(0, after.day_reserved + reserved),
            day_settled=min(after.day_settled + settled, AMOUNT_MAX),
        )
    if part.month == after.month:
        after = replace(
            after,
            month_reserved=max(0, after.month_reserved + reserved),
            month_settled=min(after.month_settled + settled, AMOUNT_MAX),
        )
    return after
