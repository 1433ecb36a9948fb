"""What the headers `x-ratelimit-…` say: how much of the tightest limit is left, and when all of it is again.

Names and forms are OpenAI's, whose clients read them. Not here: dollars (nobody's clients know them), how the
states came about (`quota.py`).
"""

from collections.abc import Sequence

from ktms.domain.access.quota import WINDOW_US, Account, AccountState
from ktms.domain.units import MS_PER_S, US_PER_S

RateHeaders = tuple[tuple[str, str], ...]

_US_PER_MS = US_PER_S // MS_PER_S


def rate_headers(accounts: Sequence[Account], states: Sequence[AccountState]) -> RateHeaders:
    """Give the headers; none for what nobody limits. `states` may be shorter: what was not read is not told."""
    requests: _Found | None = None
    tokens: _Found | None = None
    for account, state in zip(accounts, states, strict=False):
        limits = account.limits
        if limits.rpm is not None:
            requests = _tighter(requests, limits.rpm, state.requests_us)
        if limits.tpm is not None:
            tokens = _tighter(tokens, limits.tpm, state.tokens_us)
    return (*_told(_REQUESTS, requests), *_told(_TOKENS, tokens))


_Found = tuple[int, int, int]
"""What is left, the limit, how far the bucket is ahead of now in microseconds: the smallest is the tightest."""

_REQUESTS = ("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests")
_TOKENS = ("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens")


def _tighter(found: _Found | None, limit: int, ahead_us: int) -> _Found:
    left = (WINDOW_US - ahead_us) * limit // WINDOW_US
    this = (max(0, left), limit, ahead_us)
    return this if found is None or this < found else found


def _told(names: tuple[str, str, str], found: _Found | None) -> RateHeaders:
    if found is None:
        return ()
    left, limit, ahead_us = found
    return ((names[0], str(limit)), (names[1], str(left)), (names[2], _duration(ahead_us)))


def _duration(us: int) -> str:
    """Write a time as OpenAI does: `350ms`, `8.64s`, `1m0s`; never less than what it is."""
    ms = -(-us // _US_PER_MS)
    if ms < MS_PER_S:
        return f"{ms}ms"
    minutes, rest_ms = divmod(ms, 60 * MS_PER_S)
    seconds = f"{rest_ms / MS_PER_S:.3f}".rstrip("0").rstrip(".")
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
