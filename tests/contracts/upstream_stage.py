"""Stages for the contract of the port `Upstream`.

A play says in words of the port what a vendor does with one request; how that becomes bytes, or nothing of the
kind, is the business of the stage. Another implementation is added to `STAGES`.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from ktms.adapters.memory import upstream as memory
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import Upstream, UpstreamRequest


@dataclass(frozen=True)
class Head:
    """The response head; the body that follows has no announced length."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Piece:
    """A piece of the body."""

    data: bytes


@dataclass(frozen=True)
class Await:
    """Nothing until the test lets it go on."""

    event: asyncio.Event


@dataclass(frozen=True)
class Silence:
    """Nothing more, for as long as the client stays."""


@dataclass(frozen=True)
class Cut:
    """The connection is dropped."""


Act = Head | Piece | Await | Silence | Cut
Play = tuple[Act, ...]
"""What happens to one request; at the end of the play the response is complete."""


@dataclass
class Vendor:
    """A vendor on stage. `gone` is set when a client has left in the middle of a play."""

    origin: Origin
    bodies: list[bytes] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class Stage(Protocol):
    """One implementation, and a place for its vendors."""

    @property
    def upstream(self) -> Upstream: ...

    async def vendor(self, *plays: Play) -> Vendor:
        """Put up a vendor that performs the plays, one for each request; the last one again and again."""
        ...

    def nobody(self) -> Origin:
        """Give an origin where nobody listens."""
        ...


class HttpStage:
    """`HttpUpstream` over sockets of this machine."""

    def __init__(self) -> None:
        self.upstream = HttpUpstream(UpstreamSettings(), AddressRules())
        self._servers: list[asyncio.Server] = []
        self._running: set[asyncio.Task[None]] = set()

    async def vendor(self, *plays: Play) -> Vendor:
        left = list(plays)

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._running.add(task)
            try:
                while True:
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                    vendor.bodies.append(await reader.readexactly(length))
                    await perform(left.pop(0) if len(left) > 1 else left[0], reader, writer, vendor)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                writer.transport.abort()
            finally:
                self._running.discard(task)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self._servers.append(server)
        vendor = Vendor(Origin("http", "127.0.0.1", server.sockets[0].getsockname()[1], "", Reach.PRIVATE))
        return vendor

    def nobody(self) -> Origin:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            return Origin("http", "127.0.0.1", taken.getsockname()[1], "", Reach.PRIVATE)

    async def strike(self) -> None:
        """Take everything down."""
        await self.upstream.close()
        assert self.upstream.open_connections == 0
        for server in self._servers:
            server.close()
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def perform(play: Play, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, vendor: Vendor) -> None:
    for act in play:
        match act:
            case Head(status, headers):
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
                writer.write(f"HTTP/1.1 {status} X\r\n{lines}Transfer-Encoding: chunked\r\n\r\n".encode())
            case Piece(data):
                writer.write(b"%x\r\n%b\r\n" % (len(data), data))
            case Await(event):
                await event.wait()
            case Silence():
                await left(reader)
                vendor.gone.set()
                raise ConnectionResetError
            case Cut():
                writer.transport.abort()
                raise ConnectionResetError
        await writer.drain()
    writer.write(b"0\r\n\r\n")


async def left(reader: asyncio.StreamReader) -> None:
    try:
        while await reader.read(65_536):
            pass
    except ConnectionError:
        pass


@asynccontextmanager
async def http() -> AsyncIterator[Stage]:
    stage = HttpStage()
    try:
        yield stage
    finally:
        await stage.strike()


class MemoryStage:
    """`MemoryUpstream`; every vendor is a host name that nobody else has."""

    def __init__(self) -> None:
        self.upstream = memory.MemoryUpstream(self._script_for, left=self._left)
        self._vendors: dict[str, Vendor] = {}
        self._plays: dict[str, list[Play]] = {}

    async def vendor(self, *plays: Play) -> Vendor:
        name = f"vendor-{len(self._vendors)}.example"
        made = Vendor(Origin("http", name, 80, "", Reach.PRIVATE))
        self._vendors[name], self._plays[name] = made, list(plays)
        return made

    def nobody(self) -> Origin:
        return Origin("http", "nobody.example", 80, "", Reach.PRIVATE)

    def _script_for(self, request: UpstreamRequest) -> memory.Script:
        name = request.origin.host
        if name not in self._vendors:
            return memory.NOBODY
        self._vendors[name].bodies.append(request.body)
        plays = self._plays[name]
        return [scripted(act) for act in (plays.pop(0) if len(plays) > 1 else plays[0])]

    def _left(self, request: UpstreamRequest) -> None:
        if request.origin.host in self._vendors:
            self._vendors[request.origin.host].gone.set()


def scripted(act: Act) -> memory.Step:
    match act:
        case Head(status, headers):
            return memory.Head(status, headers)
        case Piece(data):
            return data
        case Await(event):
            return memory.Wait(event)
        case Silence():
            return memory.Silence()
        case Cut():
            return memory.Fail(FailureKind.CLOSED)


@asynccontextmanager
async def in_memory() -> AsyncIterator[Stage]:
    stage = MemoryStage()
    yield stage
    await stage.upstream.close()
    assert stage.upstream.open_total == 0


STAGES: dict[str, Callable[[], AbstractAsyncContextManager[Stage]]] = {"http": http, "memory": in_memory}
