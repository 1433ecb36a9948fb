"""Leases and waiters of all replicas in Redis (ports: LeaseStore, WaitingRoom).

What this replica holds is remembered here: a renewal names it all, and a release must not wait for anybody.
Not here: the rules of granting (`scripts/`), the way to Redis (`link.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from ktms.adapters.redis.chunks import chunks
from ktms.adapters.redis.keys import EPOCH, FREED, leases_of, waiters_of
from ktms.adapters.redis.line import Words
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.news import hear_freed
from ktms.domain.ids import LeaseId, ModelName, NodeName
from ktms.ports.lease_store import EPOCH_GRACE_S, LEASE_TTL_S, Grant, Lease, LeaseStoreAway, Renewed, SlotWish

_ABSENT = object()
_NOT_KNOWN = -1
_OVER = 2


class RedisFleet:
    """The hold of one replica; several may share a link. Times to live are the ports' but in tests."""

    def __init__(self, link: RedisLink, *, ttl_s: float = LEASE_TTL_S, grace_s: float = EPOCH_GRACE_S) -> None:
        self._link = link
        self._ttl_ms = round(ttl_s * 1000)
        self._grace_ms = round(grace_s * 1000)
        self._held: dict[LeaseId, Lease] = {}
        self._waiters: dict[tuple[ModelName, str], None] = {}

    async def open(self) -> None:
        """Let a Redis that this replica has just started, for itself alone, grant at once.

        Raises:
            LeaseStoreAway: it did not answer.
        """
        await self._link.ask(("SET", EPOCH, 0))

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        """Take a slot on the first node that has one free, in one round trip."""
        if not wishes:
            return Grant(None, ())
        keys = [leases_of(wish.node) for wish in wishes]
        slots = [wish.slots for wish in wishes]
        words: Words = (1 + len(keys), EPOCH, *keys, lease_id, self._ttl_ms, self._grace_ms, *slots)
        regret = self._regret(wishes, lease_id)
        answer = self._link.ask(words, script=self._link.scripts.take, unheard=regret)
        try:
            which, *busy = await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and answer.exception() is None:
                regret(answer.result())  # cancelled between the answer and our turn
            raise
        if which == _NOT_KNOWN:
            raise LeaseStoreAway("unknown")
        if which == 0:
            return Grant(None, tuple(busy))
        wish = wishes[which - 1]
        lease = self._held[lease_id] = Lease(lease_id, wish.node, wish.slots)
        return Grant(lease, tuple(busy))

    def release(self, lease: Lease, *, drain_s: float = 0.0) -> None:
        """Give a slot back with the next pipeline; twice is harmless."""
        if self._held.pop(lease.id, None) is not None:
            self._give_back([lease.node], lease.id, round(drain_s * 1000))

    async def renew(self) -> Renewed:
        """Renew what is held, and those who wait, in one pipeline."""
        held = tuple(self._held.values())
        scripts = self._link.scripts
        leases = [self._renewal(part) for part in chunks(held)]
        waits = [self._wait(part) for part in chunks(tuple(self._waiters))]
        if not leases and not waits:
            return Renewed()
        answers = await self._link.ask_all(
            [(words, scripts.renew) for words in leases] + [(words, scripts.wait) for words in waits]
        )
        regained: list[Lease] = []
        over: list[Lease] = []
        for part, answer in zip(chunks(held), answers, strict=False):
            for at, mark in zip(answer[::2], answer[1::2], strict=True):
                (over if mark == _OVER else regained).append(part[at - 1])
        return Renewed(len(held) - len(regained) - len(over), tuple(regained), tuple(over))

    def join(self, model: ModelName, waiter: str) -> None:
        """Count one more waiter with the next pipeline."""
        self._waiters[model, waiter] = None
        self._link.tell(self._wait([(model, waiter)]), script=self._link.scripts.wait)

    def leave(self, model: ModelName, waiter: str) -> None:
        """Count a waiter off with the next pipeline; twice is harmless."""
        if self._waiters.pop((model, waiter), _ABSENT) is None:
            self._link.tell((1, waiters_of(model), waiter), script=self._link.scripts.leave)

    def freed(self) -> AsyncIterator[NodeName]:
        """Yield nodes with a freed slot, heard on a connection of its own."""
        return hear_freed(self._link)

    def _renewal(self, leases: Sequence[Lease]) -> Words:
        keys = [leases_of(lease.node) for lease in leases]
        named = [word for lease in leases for word in (lease.id, lease.slots)]
        return (1 + len(keys), EPOCH, *keys, self._ttl_ms, *named)

    def _wait(self, waiters: Sequence[tuple[ModelName, str]]) -> Words:
        keys = [waiters_of(model) for model, _ in waiters]
        return (len(keys), *keys, self._ttl_ms, *(waiter for _, waiter in waiters))

    def _regret(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Callable[[Any], None]:
        """Give what undoes a take that nobody heard the answer of (S05); of one that is held there is nothing."""

        def regret(answer: Any) -> None:
            if lease_id in self._held:
                return
            if answer is None:
                self._give_back([wish.node for wish in wishes], lease_id, 0, first=True)
            elif answer[0] > 0:
                self._give_back([wishes[answer[0] - 1].node], lease_id, 0, first=True)

        return regret

    def _give_back(
        self, nodes: Sequence[NodeName], lease_id: LeaseId, drain_ms: int, *, first: bool = False
    ) -> None:
        keys = [leases_of(node) for node in nodes]
        words: Words = (len(keys), *keys, lease_id, drain_ms, FREED, *nodes)
        self._link.tell(words, script=self._link.scripts.release, first=first)
