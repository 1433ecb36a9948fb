"""A contender that refuses everything, for the test of the tools: `python -m tests.perf.refuser`."""

import asyncio
from typing import cast

import uvloop

from tests.perf.child import run_until_told


class Refusal(asyncio.Protocol):
    """Says 401 to whatever comes."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's has no base

    def data_received(self, data: bytes) -> None:
        """Refuse."""
        del data
        self.transport.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")


async def listen() -> int:
    """Open the port."""
    server = await asyncio.get_running_loop().create_server(Refusal, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    return port


if __name__ == "__main__":
    uvloop.run(run_until_told(listen))
