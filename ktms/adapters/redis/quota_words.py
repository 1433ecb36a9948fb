"""What the scripts about limits are told and what they keep, as bytes: whole numbers in doubles, little-endian.

A double holds whole numbers below 2**53 exactly, and a script reads many of them in one step. Not here: who asks
(`quota.py`), what the numbers mean (`scripts/account.lua`).
"""

from collections.abc import Sequence
from struct import Struct

from ktms.domain.access.quota import Account, AccountState, Spent
from ktms.domain.access.quota_counters import Counters, bounded_micros, bounded_tokens, share_us

_COUNTERS = Struct("<11d")
_SPENT = Struct("<4d")

_NO_LIMIT = -1
"""Stands for no limit at all; a limit of nought refuses everybody."""


def pack_counters(counters: Counters) -> bytes:
    """Pack what is counted of an account."""
    its = counters
    return _COUNTERS.pack(
        its.requests_at_us,
        its.tokens_at_us,
        its.tokens_since_us,
        its.running,
        its.read,
        its.day,
        its.day_settled,
        its.day_reserved,
        its.month,
        its.month_settled,
        its.month_reserved,
    )


def unpack_counters(packed: bytes) -> Counters:
    """Read what is counted of an account; what is none has nothing."""
    if len(packed) != _COUNTERS.size:
        return Counters()
    its = [int(number) for number in _COUNTERS.unpack(packed)]
    return Counters(its[0], its[1], its[2], its[3], bool(its[4]), *its[5:])


def read_state(packed: bytes, now_us: int) -> tuple[bool, AccountState]:
    """Read whether the ledger was asked, and what is told of an account that is of `now_us`."""
    requests_at, tokens_at, _, running, read, _, day, day_more, _, month, month_more = _COUNTERS.unpack(packed)
    state = AccountState(
        max(0, int(requests_at) - now_us),
        max(0, int(tokens_at) - now_us),
        int(running),
        int(day + day_more),
        int(month + month_more),
    )
    return read != 0, state


class AccountWords:
    """Packs what is asked of the same accounts, call after call: what their limits say is worked out once."""

    __slots__ = ("_same", "_tokens", "_used", "_wish")

    def __init__(self, accounts: Sequence[Account]) -> None:
        self._wish = Struct(f"<{1 + 5 * len(accounts)}d")
        self._used = Struct(f"<{2 + len(accounts)}d")
        self._same: list[int] = [0]
        self._tokens: list[tuple[int, int | None]] = []
        for limits in (account.limits for account in accounts):
            self._tokens.append((len(self._same) + 1, limits.tpm))
            self._same += [
                share_us(limits.rpm, 1),
                0,
                _NO_LIMIT if limits.concurrent is None else limits.concurrent,
                _NO_LIMIT if limits.usd_per_day_micros is None else limits.usd_per_day_micros,
                _NO_LIMIT if limits.usd_per_month_micros is None else limits.usd_per_month_micros,
            ]

    def wish(self, tokens: int, micros: int) -> bytes:
        """Pack what a call wants: micros, and of each account its shares and limits."""
        numbers, counted = self._same.copy(), bounded_tokens(tokens)
        numbers[0] = bounded_micros(micros)
        for at, tpm in self._tokens:
            numbers[at] = share_us(tpm, counted)
        return self._wish.pack(*numbers)

    def used(self, tokens: int, micros: int) -> bytes:
        """Pack what a call used: micros, whether it was nothing at all, and each account's share of tokens."""
        nothing, counted = tokens <= 0 and micros <= 0, bounded_tokens(tokens)
        shares = [share_us(tpm, counted) for _, tpm in self._tokens]
        return self._used.pack(bounded_micros(micros), nothing, *shares)


def pack_spent(spent: Spent) -> bytes:
    """Pack what the ledger knows of an account."""
    return _SPENT.pack(spent.day, spent.month, spent.day_micros, spent.month_micros)
