"""A simulated Redis on a port of loopback that counts what it is sent, refuses on demand and loses its answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

from sim.fakes.redis.resp import RequestReader
from sim.fakes.redis.server import SimRedis

PATIENT_S = 5.0
"""A test waits for facts; only a machine that stands still needs so long."""


class StandIn:
    """`refusal`: the answer to everything, as `-READONLY ...`; `mute`: requests are done, answers get lost."""

    def __init__(self) -> None:
        self.redis = SimRedis()
        self.refusal: bytes | None = None
        self.mute = False
        self.pieces = 0
        self.connected = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def busy(self, node: str) -> int:
        """Members of a node's leases, over or not."""
        return self.redis.state.data.sets.count(f"{{ktms:fleet}}:leases:{node}".encode())

    def forget_scripts(self) -> None:
        self.redis.state.scripts.flush()


class Between(asyncio.Protocol):
    """Between a client and the simulated server."""

    def __init__(self, stand_in: StandIn) -> None:
        self._stand_in = stand_in
        self._behind = stand_in.redis.connection()
        self._refused = RequestReader()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._stand_in.connected += 1
        self._transport = cast("asyncio.Transport", transport)
        self._behind.connection_made(Muffled(self._stand_in, self._transport))

    def data_received(self, data: bytes) -> None:
        self._stand_in.pieces += 1
        assert self._transport is not None
        if self._stand_in.refusal is None:
            self._behind.data_received(data)
            return
        self._refused.feed(data)
        while self._refused.take() is not None:
            self._transport.write(self._stand_in.refusal + b"\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self._behind.connection_lost(exc)


class Muffled(asyncio.Transport):
    """Writes nothing while the server is to be mute."""

    def __init__(self, stand_in: StandIn, transport: asyncio.Transport) -> None:
        super().__init__()
        self._stand_in = stand_in
        self._transport = transport

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._stand_in.mute:
            self._transport.write(data)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()


@asynccontextmanager
async def standing_in() -> AsyncIterator[StandIn]:
    stand_in = StandIn()
    server = await asyncio.get_running_loop().create_server(lambda: Between(stand_in), "127.0.0.1", 0)
    stand_in.port = server.sockets[0].getsockname()[1]
    async with server:
        yield stand_in


async def until(fact: Callable[[], bool]) -> None:
    """Let the loop turn until it is so."""
    async with asyncio.timeout(PATIENT_S):
        while not fact():  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0)
