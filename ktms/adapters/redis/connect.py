"""A probe that tells whether Redis answers: for the gauge of dependencies, of a gateway without nodes too.

Not here: leases and waiters, which share a connection of their own (`link.py`), the connection itself (`line.py`).
"""

from redis.exceptions import ResponseError

from ktms.adapters.redis.line import Line, LineBroken


class RedisAway(Exception):
    """Redis does not answer as it should right now: refused, hung, or a wrong password."""


class RedisProbe:
    """Asks over one connection of its own, made when first needed and again after it broke."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._line = Line(url, timeout_s)

    async def ping(self) -> None:
        """Ask once; returns when it answered.

        Raises:
            RedisAway: it did not, within the timeouts of a line.
        """
        try:
            await self._line.connect()
            [answer] = await self._line.exchange([("PING",)])
        except LineBroken as error:
            raise RedisAway(f"Redis does not answer: {error.kind}") from error
        if isinstance(answer, ResponseError):
            raise RedisAway("Redis does not answer: error") from answer

    async def close(self) -> None:
        """Close the connection; twice is harmless."""
        await self._line.drop()
