"""A vendor that does exactly what a test wrote, byte by byte, and tells what it saw.

A script is a coroutine over one accepted connection. Waiting is always for something that happens (`Peer.gone`,
`Peer.request`), never for time.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import Flow, Prologue, UpstreamAnswer, UpstreamFailed, UpstreamRequest

GENEROUS = Timers(pool_s=20.0, connect_s=20.0, first_token_s=20.0, idle_s=20.0, total_s=30.0)
"""Longer than any test: what ends early, ended for its own reason."""

SHORT_S = 0.05

MIB = 1 << 20

CHAT = Prologue("POST", "/v1/chat/completions", (("Content-Type", "application/json"),))


def answer(body: bytes = b"{}", *headers: str, status: str = "200 OK") -> bytes:
    """A response with a length."""
    lines = "".join(f"{line}\r\n" for line in headers)
    return f"HTTP/1.1 {status}\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def stream_head(*headers: str) -> bytes:
    """The head of a chunked response."""
    lines = "".join(f"{line}\r\n" for line in headers)
    return f"HTTP/1.1 200 OK\r\n{lines}Transfer-Encoding: chunked\r\n\r\n".encode()


def chunk(data: bytes) -> bytes:
    """One chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)


class Peer:
    """The vendor's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> Seen:
        """Read one request with a length."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head[:-4].split("\r\n")
        headers = tuple((name, value) for name, _, value in (entry.partition(": ") for entry in rest))
        length = int(dict(headers).get("Content-Length", "0"))
        return Seen(line, headers, await self.reader.readexactly(length))

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the client has closed its end."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            pass

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        self.writer.transport.abort()


Script = Callable[[Peer], Awaitable[None]]


@dataclass
class Vendor:
    """A listening vendor: where it is, and how many connections it took."""

    origin: Origin
    accepted_total: int = 0
    open: set[Peer] = field(default_factory=set)


Serve = Callable[..., Awaitable[Vendor]]
"""`serve(script, tls=None, host="127.0.0.1")`."""


@asynccontextmanager
async def serving() -> AsyncIterator[Serve]:
    """Give a function that starts vendors; all end with the block, and a script that failed fails it."""
    servers: list[asyncio.Server] = []
    running: set[asyncio.Task[None]] = set()

    async def serve(script: Script, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Vendor:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            running.add(task)
            peer = Peer(reader, writer)
            vendor.accepted_total += 1
            vendor.open.add(peer)
            try:
                await script(peer)
                writer.close()  # what was sent still arrives
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                writer.transport.abort()  # the client left, or the test is over
            finally:
                vendor.open.discard(peer)
                running.discard(task)

        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
        servers.append(server)
        port = server.sockets[0].getsockname()[1]
        vendor = Vendor(Origin("http" if tls is None else "https", host, port, "", Reach.PRIVATE))
        return vendor

    try:
        yield serve
    finally:
        for server in servers:
            server.close()
        left = tuple(running)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def silent(peer: Peer) -> None:
    """Read one request and never answer."""
    await peer.request()
    await peer.gone()


async def answering(peer: Peer) -> None:
    """Answer every request with `{}` for as long as the client likes."""
    while True:
        await peer.request()
        await peer.send(answer())


def ask(
    vendor: Vendor,
    body: bytes = b"{}",
    *,
    timers: Timers = GENEROUS,
    prologue: Prologue = CHAT,
    extra: tuple[tuple[str, str], ...] = (),
) -> UpstreamRequest:
    return UpstreamRequest(vendor.origin, prologue, body, timers, extra)


async def until(happened: Callable[[], bool]) -> None:
    """Let the loop run until something has happened that tells nobody."""
    async with asyncio.timeout(10):
        while True:
            if happened():
                return
            await asyncio.sleep(0)


async def passed(seconds: float) -> None:
    """Let time pass: for a vendor that is slow, or a timer that must not fire; never to wait for something."""
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, over.set)
    await over.wait()


@dataclass
class Collector:
    """A sink that keeps what it got; `says` maps the number of the piece (from 1) to its answer."""

    says: Callable[[int], Flow] = lambda _: Flow.FLOWING
    pieces: list[bytes] = field(default_factory=list)

    def feed(self, data: bytes) -> Flow:
        assert data, "never an empty piece"
        self.pieces.append(data)
        return self.says(len(self.pieces))

    @property
    def text(self) -> bytes:
        return b"".join(self.pieces)


async def exchange(upstream: HttpUpstream, request: UpstreamRequest) -> bytes:
    answer = await upstream.send(request)
    try:
        return await answer.read(1 << 20)
    finally:
        answer.close()


async def failure(upstream: HttpUpstream, request: UpstreamRequest) -> FailureKind:
    with pytest.raises(UpstreamFailed) as failed:
        await upstream.send(request)
    return failed.value.kind


def sending(*pieces: bytes, gone: asyncio.Event | None = None) -> Script:
    """A script that reads a request, sends these pieces and waits for the client to leave."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(*pieces)
        await peer.gone()
        if gone is not None:
            gone.set()

    return script


def ending(*pieces: bytes) -> Script:
    """A script that reads a request, sends these pieces and ends the connection."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(*pieces)
        peer.close()

    return script


async def failing(answer: UpstreamAnswer, max_bytes: int = MIB) -> FailureKind:
    with pytest.raises(UpstreamFailed) as failed:
        await answer.read(max_bytes)
    return failed.value.kind
