"""A probe that tells whether Redis answers: for start-up, readiness and the gauge of dependencies.

Not here: leases and waiters, which have their own bounded client (`link.py`).
"""

import asyncio

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from ktms.adapters.redis.line import plain_url


class RedisAway(Exception):
    """Redis does not answer as it should right now: refused, hung, or a wrong password."""


class RedisProbe:
    """Asks over one connection of its own, made when first needed and again after it broke."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._client = Redis.from_url(
            plain_url(url),
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            retry=Retry(NoBackoff(), 0),  # whoever asks decides when to ask again
            max_connections=1,
        )

    async def ping(self) -> None:
        """Ask once; returns when it answered.

        redis-py 8.1 loses a cancellation that comes while it connects and returns as if nothing had been: a task
        that asks in a loop would never end. It is raised here again.

        Raises:
            RedisAway: it did not, within the timeout.
        """
        task = asyncio.current_task()
        assert task is not None, "asked from a task"
        cancelled_before = task.cancelling()
        try:
            await self._client.ping()
        except (RedisError, OSError, TimeoutError) as error:
            raise RedisAway(f"Redis does not answer: {type(error).__name__}") from error
        finally:
            if task.cancelling() > cancelled_before:
                raise asyncio.CancelledError

    async def close(self) -> None:
        """Close the connection; twice is harmless."""
        await self._client.aclose()
