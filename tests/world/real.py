"""The world on real sockets of this machine."""

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from tests.world.gateway import start_gateway
from tests.world.ground import Listening
from tests.world.world import World

HOST = "127.0.0.1"

P = TypeVar("P", bound=asyncio.Protocol)


class RealGround:
    """Real sockets, the loop's real time."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: list[Exception] = []

    def now(self) -> float:
        """See `Ground`."""
        return asyncio.get_running_loop().time()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """See `Ground`."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._failures.append(error)

    async def listen(self, name: str, factory: Callable[[], asyncio.Protocol]) -> Listening:
        """See `Ground`; every name is this machine, the port is a free one."""
        server = await asyncio.get_running_loop().create_server(factory, HOST, 0)
        return Listening(name, HOST, server.sockets[0].getsockname()[1], server.close)

    async def connect(self, host: str, port: int, factory: Callable[[], P]) -> P:
        """See `Ground`."""
        _, protocol = await asyncio.get_running_loop().create_connection(factory, host, port)
        return protocol

    def reset(self, transport: asyncio.BaseTransport) -> None:
        """See `Ground`: a close that lingers for zero seconds is an RST."""
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.fileno() >= 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        cast("asyncio.Transport", transport).abort()

    async def stop(self) -> None:
        """End all tasks.

        Raises:
            ExceptionGroup: of what went wrong inside them; a script that failed fails the test.
        """
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._failures:
            raise ExceptionGroup("actors of the world failed", self._failures)


class RealWorld(World):
    """A world on `RealGround`."""

    def __init__(self) -> None:
        self._real = RealGround()
        super().__init__(self._real, start_gateway)

    async def stop(self) -> None:
        """Take everything down, then end what is left."""
        try:
            await super().stop()
        finally:
            await self._real.stop()
