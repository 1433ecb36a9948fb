"""Answers kept in Redis for all replicas (port AnswerCache).

They travel on a connection of their own: a value of a megabyte must not stand before a lease. A timeout may be
that of large values alone: when half of it is over the other connection is asked too, and Redis hangs only where
that is silent as well. What cannot be stored at once is not stored: whoever asks again asks a target. Nothing is
stored in a server that lets nothing go and is nearly full: full of answers it would count no limits any more.
Not here: what is kept, and for whom (engine).
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ktms.adapters.redis.keys import TRIAL, answer_key
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.memory_info import is_nearly_full, read_info
from ktms.domain.units import MS_PER_S
from ktms.ports.answer_cache import CacheAway
from ktms.ports.lease_store import LeaseStoreAway

UNDER_WAY_BYTES_MAX = 16 * 1024 * 1024
"""What may be on its way to Redis at once; more would not be there within one timeout."""

LOOK_EVERY_S = 1.0
"""How old the view of the server's memory may be; with what is under way a second fills no more than the rest."""

SLOW = "slow"
"""Redis answers others: only what is large does not come in time."""


class RedisAnswerCache:
    """Reads and writes values that end by themselves."""

    def __init__(self, link: RedisLink, beside: RedisLink) -> None:
        self._link = link
        self._beside = beside
        self._under_way_bytes = 0
        self._looks_at = 0.0
        self._is_full = False

    async def get(self, key: bytes) -> bytes | None:
        """Ask for what was kept, in one round trip."""
        asked: list[asyncio.Future[Any]] = []
        try:
            asked.append(self._link.ask(("GET", answer_key(key))))
            await asyncio.wait(asked, timeout=self._link.timeout_s / 2)
            if not asked[0].done():
                asked += self._asked_beside()
            kept: bytes | None = await asked[0]
        except LeaseStoreAway as away:
            is_slow = away.kind == "timeout" and any(map(_is_answered, asked))
            raise CacheAway(SLOW if is_slow else away.kind) from away
        finally:
            for future in asked:
                _let_go(future)
        return kept

    def _look(self) -> None:
        """Ask how full the server is, once in a while; the answer counts from when it is there."""
        now = asyncio.get_running_loop().time()
        if now < self._looks_at:
            return
        self._looks_at = now + LOOK_EVERY_S
        try:
            told = self._link.ask(("INFO", "memory"))
        except LeaseStoreAway:
            return

        def seen(end: "asyncio.Future[Any]") -> None:
            if _is_answered(end) and isinstance(end.result(), bytes):
                self._is_full = is_nearly_full(read_info(end.result().decode("utf-8", "replace")))

        told.add_done_callback(seen)

    def _asked_beside(self) -> "Iterator[asyncio.Future[Any]]":
        with suppress(LeaseStoreAway):
            yield self._beside.ask(("GET", TRIAL))

    def put(self, key: bytes, answer: bytes, ttl_s: float) -> None:
        """Write with the next pipeline; given up where Redis does not take it within a timeout."""
        size = len(answer)
        self._look()
        if self._is_full or self._under_way_bytes + size > UNDER_WAY_BYTES_MAX:
            return
        ttl_ms = max(1, round(ttl_s * MS_PER_S))
        try:
            written = self._link.ask(("SET", answer_key(key), answer, "PX", ttl_ms))
        except LeaseStoreAway:
            return
        self._under_way_bytes += size

        def over(end: "asyncio.Future[Any]") -> None:
            self._under_way_bytes -= size
            if not end.cancelled():
                end.exception()  # looked at, so that the loop does not report it: nobody waits for it

        written.add_done_callback(over)


def _let_go(future: "asyncio.Future[Any]") -> None:
    if future.done() and not future.cancelled():
        future.exception()  # looked at, so that the loop does not report it: nobody waits for it
    future.cancel()


def _is_answered(probe: "asyncio.Future[Any]") -> bool:
    return probe.done() and not probe.cancelled() and probe.exception() is None
