"""A server that lets everybody in and leaves with its first word: what a Postgres that is shut down may do."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SSL_REQUEST = struct.pack("!i", 80877103)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


LETS_IN = (
    _message(b"R", struct.pack("!i", 0))
    + _message(b"S", b"server_version\x0016.0\x00")
    + _message(b"K", struct.pack("!ii", 1, 2))
    + _message(b"Z", b"I")
)
LEAVES = _message(b"E", b"SFATAL\x00C57P01\x00Mterminating connection due to administrator command\x00\x00")


@asynccontextmanager
async def parting_server() -> AsyncIterator[str]:
    """Let it listen, and give where."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await _heard(reader) == SSL_REQUEST:
            writer.write(b"N")
            await _heard(reader)
        writer.write(LETS_IN + LEAVES)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"postgresql://somebody@127.0.0.1:{server.sockets[0].getsockname()[1]}/ktms"


async def _heard(reader: asyncio.StreamReader) -> bytes:
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    return await reader.readexactly(length - 4)
