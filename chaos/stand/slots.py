"""What the shared store itself says of slots: how many leases of each node live by its own clock.

It is also made a store that has been in use for long: one that is found empty grants nothing at first. The names
of its keys are written down a second time. Not here: what replicas believe.
"""

from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

PREFIX = "{ktms:fleet}"

EPOCH = f"{PREFIX}:epoch"
"""Holds when the store was first found empty."""

ASK_S = 2.0

SCAN_KEYS = 500
"""Keys per step of an emptying."""


class Slots:
    """One way to the store, past every proxy."""

    def __init__(self, url: str, nodes: Sequence[str]) -> None:
        self._redis = Redis.from_url(url, socket_timeout=ASK_S, socket_connect_timeout=ASK_S)
        self._nodes = tuple(nodes)

    async def make_old(self) -> None:
        """Take everything of ours out, and let it be a store that has been in use for long."""
        found = [name async for name in self._redis.scan_iter(match=f"{PREFIX}*", count=SCAN_KEYS)]
        if found:
            await self._redis.delete(*found)
        await self._redis.set(EPOCH, 0)

    async def in_use(self) -> dict[str, int]:
        """Count the leases that live, by node; empty where the store does not answer."""
        return {node: len(leases) for node, leases in (await self._living()).items()}

    async def held(self) -> frozenset[str] | None:
        """Name the leases that live on all nodes; None where the store does not answer."""
        living = await self._living()
        return frozenset().union(*living.values()) if living else None

    async def _living(self) -> dict[str, frozenset[str]]:
        try:
            async with self._redis.pipeline(transaction=True) as asked:
                _ = asked.time()  # a pipeline keeps it
                for node in self._nodes:
                    _ = asked.zrange(f"{PREFIX}:leases:{node}", 0, -1, withscores=True)
                (seconds, microseconds), *found = await asked.execute()
        except (RedisError, OSError, TimeoutError):
            return {}
        now_ms = seconds * 1000 + microseconds / 1000
        return {
            node: frozenset(lease.decode() for lease, score in members if score > now_ms)
            for node, members in zip(self._nodes, found, strict=True)
        }

    async def close(self) -> None:
        """Close the way."""
        await self._redis.aclose()
