"""An engine on loopback that notes every byte it is asked, and answers what a test tells it to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.api.wire_client import PATIENCE_S


@dataclass
class Asked:
    """One request: its head as it came, its body, and the way back."""

    head: bytes
    body: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def lines(self) -> list[str]:
        return self.head.decode().removesuffix("\r\n\r\n").split("\r\n")

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, body: bytes, *, status: str = "200 OK", headers: tuple[str, ...] = ()) -> None:
        """Give a whole answer with a length."""
        lines = (f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers)
        await self.say("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        self.over.set()

    async def begin_events(self) -> None:
        await self.say(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
            b"X-Engine: secret\r\nTransfer-Encoding: chunked\r\n\r\n"
        )

    async def piece(self, data: bytes) -> None:
        await self.say(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.say(b"0\r\n\r\n")
        self.over.set()

    def die(self) -> None:
        self.writer.transport.abort()

    async def left(self) -> bool:
        """Wait until the asker has closed; False when it sent something instead."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read() == b""
            except ConnectionError:
                return True


class RecordingEngine:
    """Keeps what it was asked; `heads` is all of it."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self._asked: asyncio.Queue[Asked] = asyncio.Queue()
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None

    @property
    def connections(self) -> int:
        """How many there have been."""
        return len(self._writers)

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0, limit=1 << 26)

    async def stop(self) -> None:
        """Close at once, so that nobody listens any more and all connections are gone."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def asked(self) -> Asked:
        async with asyncio.timeout(PATIENCE_S):
            return await self._asked.get()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one request after the other; who answers by `say` alone gets no second one."""
        self._writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                asked = Asked(head, await reader.readexactly(length), reader, writer)
                self.heads.append(head)
                self._asked.put_nowait(asked)
                await asked.over.wait()
        except (asyncio.IncompleteReadError, ConnectionError):
            return


@asynccontextmanager
async def recording_engine() -> AsyncIterator[RecordingEngine]:
    engine = RecordingEngine()
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()
