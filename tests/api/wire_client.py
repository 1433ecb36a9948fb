"""A client that writes what it likes and reads what comes, byte by byte."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

PATIENCE_S = 10.0
"""Long for a loaded machine, short for a hang."""


@dataclass(frozen=True)
class Answer:
    """One response; `raw` is its head as it came, names of headers are in lower case."""

    raw: bytes
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        text = json.loads(self.body)["error"]["message"]
        assert isinstance(text, str)
        return text

    @property
    def code(self) -> str:
        """The code of an error in OpenAI's shape."""
        error = self.json["error"]
        assert set(error) == {"message", "type", "param", "code"}
        code: str = error["code"]
        return code


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, *pieces: bytes) -> None:
        """Send pieces, each in a segment of its own as far as that can be had."""
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()
            await asyncio.sleep(0)

    async def answer(self, *, to_head: bool = False) -> Answer:
        """Read one response; `to_head` says that it has no body whatever its length says."""
        async with asyncio.timeout(PATIENCE_S):
            raw = await self._reader.readuntil(b"\r\n\r\n")
            first, *lines = raw[:-4].decode("latin-1").split("\r\n")
            pairs = [line.split(": ", 1) for line in lines]
            headers = {name.lower(): value for name, value in pairs}
            assert len(headers) == len(pairs), f"a header is repeated: {raw!r}"
            body = b"" if to_head else await self._body(headers)
            return Answer(raw, int(first.split(" ")[1]), headers, body)

    async def rest(self) -> bytes:
        """Read until the connection ends."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self._reader.read()
            except ConnectionError:
                return b""

    async def ended(self) -> bool:
        """Wait for the end of the connection; False when something came instead."""
        return await self.rest() == b""

    def fin(self) -> None:
        """Say that nothing more will be sent."""
        self._writer.write_eof()

    def leave(self) -> None:
        self._writer.transport.abort()

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") == "chunked":
            return b"".join([piece async for piece in self._chunks()])
        if "content-length" in headers:
            return await self._reader.readexactly(int(headers["content-length"]))
        return await self._reader.read()

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            size = int(await self._reader.readline(), 16)
            piece = await self._reader.readexactly(size + 2)
            if size == 0:
                return
            yield piece[:-2]


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    try:
        yield Wire(reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def silent(port: int, sent: bytes) -> AsyncIterator[socket.socket]:
    """Connect, send, and read nothing unless asked to; the system takes little on the client's behalf."""
    loop = asyncio.get_running_loop()
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(0)
        await loop.sock_connect(sock, ("127.0.0.1", port))
        await loop.sock_sendall(sock, sent)
        yield sock


async def ask(port: int, *pieces: bytes) -> Answer:
    """Send one request on a connection of its own and read its answer."""
    async with connected(port) as wire:
        await wire.send(*pieces)
        return await wire.answer()


def request(
    target: str = "/echo", *, method: str = "GET", headers: tuple[str, ...] = (), body: bytes | None = None
) -> bytes:
    """Write a request; with a body it has a length."""
    lines = [f"{method} {target} HTTP/1.1", "Host: gateway", *headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b"")
