"""A request without HTTP, handed straight to a door's handler; the answer goes to its client at once, as bytes.

Rules: a client that reads has each piece in the same loop turn; one that stopped reading fills what lies between
(drawn: sockets take more or less), then the gateway's own buffer up to its bound, and from there on it is waited
for, as on a real connection. When the connection ends, whoever drives the handler's task cancels it, as the port
does. Not here: parsing of the answer (the client), connections that serve several requests (level WIRE).
"""

import asyncio
from typing import Protocol

from ktms.api.inbound import RawHeaders
from ktms.api.routes import Handler
from ktms.api.way_back import taken
from ktms.api.wire import Reply
from sim.seed import Chance

HIGH_WATER_BYTES = 64 * 1024
"""What may lie in the gateway's buffer before it says that it is enough: asyncio's own mark."""

LOW_WATER_BYTES = HIGH_WATER_BYTES // 4

BETWEEN_MAX_BYTES = 256 * 1024
"""The most that two sockets' buffers take of what a client leaves unread."""


class Taker(Protocol):
    """The client at the other end."""

    def received(self, data: bytes) -> None:
        """Take bytes of the answer; called inside the gateway's write."""
        ...

    def lost(self) -> None:
        """Learn that the gateway ended the connection, after its last bytes, and cancel the handler's task."""
        ...


class PortConnection:
    """What a request came on, as both ends have it. `transport` None: it has ended."""

    def __init__(self, taker: Taker, chance: Chance, window_bytes: int = BETWEEN_MAX_BYTES) -> None:
        self._window_bytes = window_bytes
        self._high_bytes = min(HIGH_WATER_BYTES, window_bytes // 4)
        self.taker = taker
        self.transport: PortTransport | None = PortTransport(self)
        self.writing_paused = False
        self._chance = chance
        self._reading = True
        self._unread = bytearray()
        self._between_bytes = 0
        self._drained: list[asyncio.Future[None]] = []

    # What the client does.

    def stop_reading(self) -> None:
        """Read no more until told to."""
        if self._reading:
            self._reading = False
            self._between_bytes = self._chance.between(0, self._window_bytes)

    def read_on(self) -> None:
        """Read all there is, and whatever comes, at once."""
        self._reading = True
        self.take(len(self._unread))

    def take(self, bytes_max: int) -> None:
        """Read so many bytes of what waits, and no others."""
        data = bytes(self._unread[:bytes_max])
        del self._unread[:bytes_max]
        if self.writing_paused and self.buffered_bytes <= self._high_bytes // 4:
            self._resume()
        if data:
            self.taker.received(data)
        if not self._unread and self.transport is not None and self.transport.is_closing():
            self.lose()

    def leave(self) -> None:
        """Close from the client's side; the handler's task is to be cancelled right after it."""
        self.transport = None
        self._unread.clear()
        self._resume()

    # What the gateway does.

    @property
    def buffered_bytes(self) -> int:
        """What lies in the gateway's buffer."""
        return max(0, len(self._unread) - self._between_bytes)

    async def drain(self) -> None:
        """Wait until the client takes bytes again."""
        while self.writing_paused and self.transport is not None:
            waiter = asyncio.get_running_loop().create_future()
            self._drained.append(waiter)
            await waiter

    def send(self, data: bytes) -> None:
        """Write bytes to the client."""
        if self._reading and not self._unread:
            self.taker.received(data)
            return
        self._unread += data
        if self.buffered_bytes > self._high_bytes:
            self.writing_paused = True

    def close(self) -> None:
        """End once the client has all there is."""
        if not self._unread:
            asyncio.get_running_loop().call_soon(self.lose)

    def abort(self) -> None:
        """End at once; what the client has not read is gone."""
        self._unread.clear()
        asyncio.get_running_loop().call_soon(self.lose)

    def lose(self) -> None:
        """Have ended; twice is harmless."""
        if self.transport is not None:
            self.transport = None
            self._resume()
            self.taker.lost()

    def _resume(self) -> None:
        self.writing_paused = False
        drained, self._drained = self._drained, []
        for waiter in drained:
            if not waiter.done():
                waiter.set_result(None)


class PortTransport(asyncio.Transport):
    """The transport of such a connection, as far as doors use one."""

    def __init__(self, connection: PortConnection) -> None:
        super().__init__()
        self._connection = connection
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write bytes; nothing after the end."""
        if not self._closing and self._connection.transport is not None:
            self._connection.send(bytes(data))

    def get_write_buffer_size(self) -> int:
        """Count the bytes that wait in the gateway."""
        return self._connection.buffered_bytes

    def is_closing(self) -> bool:
        """Whether the connection has ended or is about to."""
        return self._closing or self._connection.transport is None

    def close(self) -> None:
        """End once all is read; twice is harmless."""
        if not self._closing:
            self._closing = True
            self._connection.close()

    def abort(self) -> None:
        """End at once."""
        self._closing = True
        self._connection.abort()


class _WholeBody:
    """A body that came with its head."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def is_eof(self) -> bool:
        """Say that all of it has come."""
        return True

    def read_nowait(self) -> bytes:
        """Give it, once."""
        data, self._data = self._data, b""
        return data

    async def readany(self) -> bytes:
        """Give it, once."""
        return self.read_nowait()


class PortInbound:
    """One request; implements `Inbound`. HTTP/1.1 with keep-alive, whole, uncompressed."""

    __slots__ = (
        "connection",
        "content",
        "content_length",
        "keep_alive",
        "method",
        "raw_headers",
        "raw_path",
        "version",
    )

    def __init__(
        self, method: str, path: str, headers: RawHeaders, body: bytes, connection: PortConnection
    ) -> None:
        self.method = method
        self.raw_path = path
        self.raw_headers = headers
        self.version = (1, 1)
        self.keep_alive = True
        self.content_length: int | None = len(body)
        self.content = _WholeBody(body)
        self.connection = connection

    @property
    def transport(self) -> asyncio.Transport | None:
        """The way back; None once the client has left."""
        return self.connection.transport

    @property
    def writer(self) -> PortConnection:
        """What waits for the client to read."""
        return self.connection

    @property
    def protocol(self) -> PortConnection:
        """What knows whether the client reads."""
        return self.connection


async def serve(handler: Handler, request: PortInbound, stall_s: float) -> Reply:
    """Answer a request as the port does: the handler, its reply's bytes, and the client's taking of them.

    An error of the handler is a mistake of the product and raised. Cancelled by whoever drives it when the client
    leaves.
    """
    reply = await handler(request)
    if reply.body is not None and request.transport is not None:
        request.transport.write(reply.head + reply.body)
        reply.body = None
    if request.connection.writing_paused:
        await taken(request, stall_s)
    if request.transport is not None and not reply.keeps:
        request.transport.close()
    return reply
