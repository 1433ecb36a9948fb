"""Somebody who answers with bytes, each piece as a segment of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

SEGMENT_S = 0.02
"""Apart enough to be read one by one; what is tested holds however they come."""


@asynccontextmanager
async def answering(*pieces: bytes) -> AsyncIterator[str]:
    """Answer one request with these, one after the other; gives the URL."""
    ended = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(SEGMENT_S)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        ended.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await ended.wait()
    finally:
        server.close()


def answer_of(body: bytes, status: str = "200 OK") -> tuple[bytes, bytes]:
    """Write an answer: its head, its body."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode(), body
