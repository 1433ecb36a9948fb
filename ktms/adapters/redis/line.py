"""One connection to the Redis that holds our keys: made when needed, dropped after any fault.

redis-py makes it (TLS, AUTH, SELECT) and reads it; what is asked is encoded here, because its own packing costs
more than all the rest. All our keys share a hash slot, so a cluster needs no more than to follow where it points.
Not here: who asks, and how often (`link.py`). Sentinel is not supported.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import hiredis
from redis.asyncio.connection import Connection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisLost
from redis.exceptions import MovedError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeout

from ktms.adapters.redis.alarm import Alarm

CONNECT_TIMEOUTS = 3
"""Connecting is up to three round trips: TCP, TLS, AUTH."""

RESP = 2
"""Version 3 has nothing we need, and news arrive as plain answers in version 2."""

Words = Sequence[str | bytes | int]
"""A command and its arguments."""


class LineBroken(Exception):
    """The connection could not be made, or is lost. `kind` is one word: away, timeout, error."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"the connection to Redis is lost: {kind}")
        self.kind = kind


class Line:
    """A connection that its owner uses from one task at a time."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._options: dict[str, Any] = dict(parse_url(plain_url(url)))
        self._make: type[Connection] = self._options.pop("connection_class", Connection)
        self._options |= {
            "protocol": RESP,
            "retry": Retry(NoBackoff(), 0),  # whoever asks decides when to ask again
            "socket_timeout": None,  # ours covers a whole pipeline
            "socket_connect_timeout": None,
            "driver_info": None,  # a round trip that tells nobody anything
        }
        self._moved_to: dict[str, Any] = {}
        self._connection: Connection | None = None

    async def connect(self) -> None:
        """Connect, unless it is connected.

        redis-py 8.1 loses a cancellation that comes while it connects and returns as if nothing had been: that of
        our own timeout too. Both are raised here again.

        Raises:
            LineBroken: it could not, within CONNECT_TIMEOUTS timeouts.
        """
        if self._connection is not None:
            return
        connection = self._make(**self._options | self._moved_to)
        self._moved_to = {}
        task = asyncio.current_task()
        assert task is not None, "connected from a task"
        cancelled_before = task.cancelling()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUTS * self._timeout_s) as limit:
                await connection.connect()  # type: ignore[no-untyped-call]
        except (RedisError, OSError, TimeoutError) as error:
            raise LineBroken(_kind(error)) from error
        else:
            if not limit.expired():
                self._connection = connection
        finally:
            if self._connection is None or task.cancelling() > cancelled_before:
                self._connection = None
                await connection.disconnect(nowait=True)
            if task.cancelling() > cancelled_before:
                raise asyncio.CancelledError
        if limit.expired():
            raise LineBroken("timeout")

    async def exchange(self, commands: Iterable[Words]) -> list[Any]:
        """Send commands in one write and give their answers in order; a refusal is one, a ResponseError.

        Raises:
            LineBroken: not all answers came within the timeout; what was carried out is not known.
        """
        connection = self._connection
        assert connection is not None, "connected first"
        packed = [_pack(words) for words in commands]
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as limit:
                alarm = Alarm(loop.time() + self._timeout_s, lambda: limit.reschedule(loop.time()))
                try:
                    await connection.send_packed_command(b"".join(packed), check_health=False)
                    return [await self._answer(connection) for _ in packed]
                finally:
                    alarm.cancel()
        except (RedisError, OSError, TimeoutError) as error:
            await self.drop()
            raise LineBroken(_kind(error)) from error
        except BaseException:
            await self.drop()
            raise

    async def send(self, words: Words) -> None:
        """Send a command whose answer `next` will give.

        Raises:
            LineBroken: the connection is lost.
        """
        assert self._connection is not None, "connected first"
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._connection.send_packed_command(_pack(words), check_health=False)
        except (RedisError, OSError, TimeoutError) as error:
            await self.drop()
            raise LineBroken(_kind(error)) from error

    async def next(self, timeout_s: float) -> Any:
        """Give what the server says next, None when it is silent for so long.

        Raises:
            LineBroken: the connection is lost.
        """
        assert self._connection is not None, "connected first"
        try:
            return await self._connection.read_response(timeout=timeout_s)
        except (RedisError, OSError) as error:
            await self.drop()
            raise LineBroken(_kind(error)) from error

    async def expect(self) -> Any:
        """Give what the server says next, which it owes us.

        Raises:
            LineBroken: it said nothing, or the connection is lost.
        """
        said = await self.next(self._timeout_s)
        if said is None:
            raise LineBroken("timeout")
        return said

    def follow(self, moved: MovedError) -> None:
        """Connect next to where a cluster points; if nobody is there, to the configured address after it."""
        self._moved_to = {"port": moved.port, **({"host": moved.host} if moved.host else {})}

    async def drop(self) -> None:
        """Give the connection up; twice is harmless."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)

    async def _answer(self, connection: Connection) -> Any:
        try:
            return await connection.read_response()
        except ResponseError as refusal:
            return refusal


def plain_url(url: str) -> str:
    """Give the address of one server of a cluster, as redis-py knows it."""
    return url.replace("+cluster://", "://", 1)


def _pack(words: Words) -> bytes:
    packed: bytes = hiredis.pack_command(tuple(words))  # type: ignore[arg-type]  # its hint says one word
    return packed


def _kind(error: BaseException) -> str:
    if isinstance(error, TimeoutError | RedisTimeout):
        return "timeout"
    # What redis-py says about passwords and loading is a subclass, and an error rather than an absence.
    return "away" if isinstance(error, OSError) or type(error) is RedisLost else "error"
