"""Answers kept in Redis for all replicas (port AnswerCache).

They travel on a connection of their own: a value of a megabyte must not stand before a lease. What cannot be
stored at once is not stored: whoever asks again asks a target. Not here: what is kept, and for whom (engine).
"""

import asyncio
from typing import Any

from ktms.adapters.redis.keys import answer_key
from ktms.adapters.redis.link import RedisLink
from ktms.domain.units import MS_PER_S
from ktms.ports.answer_cache import CacheAway
from ktms.ports.lease_store import LeaseStoreAway

UNDER_WAY_BYTES_MAX = 16 * 1024 * 1024
"""What may be on its way to Redis at once; more would not be there within one timeout."""


class RedisAnswerCache:
    """Reads and writes values that end by themselves."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._under_way_bytes = 0

    async def get(self, key: bytes) -> bytes | None:
        """Ask for what was kept, in one round trip."""
        try:
            kept: bytes | None = await self._link.ask(("GET", answer_key(key)))
        except LeaseStoreAway as away:
            raise CacheAway(away.kind) from away
        return kept

    def put(self, key: bytes, answer: bytes, ttl_s: float) -> None:
        """Write with the next pipeline; given up where Redis does not take it within a timeout."""
        size = len(answer)
        if self._under_way_bytes + size > UNDER_WAY_BYTES_MAX:
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
