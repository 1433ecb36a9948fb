"""What keys and tenants may still use, counted in Redis (port QuotaStore).

What this replica has reserved is remembered here: it is declared again where Redis has lost it, and what Redis has
and nobody here knows (an answer or a settlement that was lost) is given back, a beat after it was seen first.
Not here: the arithmetic (`scripts/`), the bytes (`quota_words.py`), the way to Redis (`link.py`).
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ktms.adapters.redis.chunks import chunks
from ktms.adapters.redis.keys import BEATS, account_key, held_by, swept_of
from ktms.adapters.redis.line import Words
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.lua import Script
from ktms.adapters.redis.quota_words import AccountWords, pack_spent, read_state
from ktms.domain.access.quota import Account, Limit, Refusal, Spent
from ktms.domain.access.quota_counters import bounded_micros
from ktms.domain.ids import RequestId
from ktms.domain.units import MS_PER_S, US_PER_S
from ktms.ports.lease_store import LeaseStoreAway
from ktms.ports.quota_store import (
    RESERVATION_TTL_S,
    TOMBSTONE_S,
    Answer,
    QuotaStoreAway,
    Reserved,
    Unread,
    Wish,
)

DECLARED_MAX = 100
"""Reservations per script call: about a millisecond of Redis."""

CHARGED_MAX = 20_000
"""Keys whose names and limits are kept as words; as many as the engine knows accounts of."""

_LIMITS = tuple(Limit)
_TOMBSTONE_MS = round(TOMBSTONE_S * MS_PER_S)
_UNREAD, _RESERVED = 0, 1


@dataclass(frozen=True, slots=True)
class _Charged:
    """The same accounts, call after call: what commands begin with, their keys as one, and what limits say."""

    accounts: Sequence[Account]
    reserve: tuple[str | int, ...]
    settle: tuple[str | int, ...]
    joined: str
    words: AccountWords


class RedisQuotaStore:
    """What one replica reserves; `holder` tells it from all others, an earlier life of its own included."""

    def __init__(self, link: RedisLink, holder: str, *, ttl_s: float = RESERVATION_TTL_S) -> None:
        self._link = link
        self._holder = holder
        self._held_key, self._swept_key = held_by(holder), swept_of(holder)
        self._ttl_us = round(ttl_s * US_PER_S)
        self._charged: dict[str, _Charged] = {}
        self._held: dict[RequestId, Wish] = {}
        self._asked: dict[RequestId, None] = {}
        self._strange: tuple[str, ...] = ()
        self._lost = False
        self._used = False

    async def reserve(self, wish: Wish) -> Answer:
        """Reserve of all accounts or of none, in one round trip."""
        if not wish.accounts:
            return Reserved(())
        self._used = True
        regret = self._regret(wish)
        self._asked[wish.id] = None
        try:
            answer = self._link.ask(self._wish(wish), script=self._link.scripts.reserve, unheard=regret)
            try:
                return self._read(wish, await answer)
            except asyncio.CancelledError:
                if answer.done() and not answer.cancelled() and answer.exception() is None:
                    regret(answer.result())  # cancelled between the answer and our turn
                raise
        except LeaseStoreAway as away:
            raise QuotaStoreAway(away.kind) from away
        finally:
            self._asked.pop(wish.id, None)

    def settle(self, wish: Wish, tokens: int, micros: int) -> None:
        """Settle with the next pipeline; twice is harmless."""
        if self._held.pop(wish.id, None) is not None:
            self._tell_used(wish, tokens, micros)

    async def beat(self) -> None:
        """Say that this replica lives, declare what was lost, give back what nobody here knows.

        Where nothing was ever reserved, Redis is not asked. Lost is what Redis says to have less of than is known
        here: whoever was told of a loss may not have heard it.
        """
        if not self._used:
            return
        unknown = tuple(call for call in self._strange if not self._known(call))
        known = len(self._held)
        words: Words = (2, BEATS, self._held_key, self._holder, self._ttl_us, known, *unknown)
        ((reserved, *calls),) = await self._ask_all([(words, self._link.scripts.beat)])
        self._strange = tuple(call for one in calls if not self._known(call := one.decode()))
        if self._lost or reserved < known:
            await self._ask_all(self._declared(self._held.values()))
            self._lost = False

    async def raise_spent(self, spent: Sequence[Spent]) -> None:
        """Raise what accounts have spent, in one round trip.

        Where Redis may have lost what this replica has reserved of them, it is told before.
        """
        accounts = {one.account for one in spent}
        lost = [
            wish
            for wish in (self._held.values() if self._lost else ())
            if any(account.id in accounts for account in wish.accounts)
        ]
        many = self._declared(lost)
        for part in chunks(spent):
            keys = [account_key(one.account) for one in part]
            many.append(((len(keys), *keys, *map(pack_spent, part)), self._link.scripts.raise_spent))
        await self._ask_all(many)

    def _wish(self, wish: Wish) -> Words:
        charged = self._charged_of(wish)
        numbers = charged.words.wish(wish.tokens, wish.micros)
        return (
            *charged.reserve,
            wish.id,
            self._holder,
            self._ttl_us,
            _TOMBSTONE_MS,
            numbers,
            charged.joined,
        )

    def _charged_of(self, wish: Wish) -> _Charged:
        accounts = wish.accounts
        known = self._charged.get(accounts[0].id)
        if known is not None and known.accounts is accounts:
            return known
        if len(self._charged) >= CHARGED_MAX:
            self._charged.clear()
        keys = tuple(account_key(account.id) for account in accounts)
        known = self._charged[accounts[0].id] = _Charged(
            accounts,
            reserve=(2 + len(keys), BEATS, self._held_key, *keys),
            settle=(2 + len(keys), self._held_key, self._swept_key, *keys),
            joined="\0".join(keys),
            words=AccountWords(accounts),
        )
        return known

    def _read(self, wish: Wish, answer: Sequence[Any]) -> Answer:
        status, new, now_us, *rest = answer
        self._lost = self._lost or bool(new)
        if status == _RESERVED:
            self._held[wish.id] = wish
            return Reserved(tuple([read_state(packed, now_us)[1] for packed in rest]))
        told = [read_state(packed, now_us) for packed in rest[-len(wish.accounts) :]]
        states = tuple(state for _, state in told)
        if status == _UNREAD:
            both = zip(wish.accounts, told, strict=True)
            return Unread(tuple(account for account, (read, _) in both if account.limits.dollars and not read))
        which, limit, wait_ms = rest[:3]
        return Refusal(which - 1, _LIMITS[limit - 1], None if wait_ms < 0 else wait_ms, states)

    def _declared(self, wishes: Collection[Wish]) -> list[tuple[Words, Script]]:
        many: list[tuple[Words, Script]] = []
        for part in chunks(tuple(wishes), DECLARED_MAX):
            keys = {account_key(account.id): None for wish in part for account in wish.accounts}
            calls = [
                word
                for wish in part
                for word in (wish.id, bounded_micros(wish.micros), "\0".join(map(account_key, _ids(wish))))
            ]
            words: Words = (2 + len(keys), self._held_key, self._swept_key, *keys, *calls)
            many.append((words, self._link.scripts.declare))
        return many

    async def _ask_all(self, many: Sequence[tuple[Words, Script]]) -> list[Any]:
        try:
            return await self._link.ask_all(many)
        except LeaseStoreAway as away:
            raise QuotaStoreAway(away.kind) from away

    def _known(self, call: str) -> bool:
        return call in self._held or call in self._asked

    def _regret(self, wish: Wish) -> Callable[[Any], None]:
        """Give what undoes a reservation that nobody heard of; of one that is held there is nothing."""

        def regret(answer: Any) -> None:
            if wish.id not in self._held and (answer is None or answer[0] == _RESERVED):
                self._tell_used(wish, 0, 0)

        return regret

    def _tell_used(self, wish: Wish, tokens: int, micros: int) -> None:
        charged = self._charged_of(wish)
        words: Words = (*charged.settle, wish.id, charged.words.used(tokens, micros))
        self._link.tell(words, script=self._link.scripts.settle)


def _ids(wish: Wish) -> list[str]:
    return [account.id for account in wish.accounts]
