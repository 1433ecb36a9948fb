"""A proxy that only copies bytes, for calibration: `python -m tests.perf.pass_through UPSTREAM_PORT`.

One upstream connection per client connection, no HTTP, no pool: what sockets and the loop alone cost in Python.
"""

import asyncio
import sys
from typing import cast

import uvloop

from tests.perf.child import run_until_told


class Side(asyncio.Protocol):
    """One side of a pair; what it receives the other side sends."""

    transport: asyncio.Transport

    def __init__(self, upstream_port: int | None, other: "Side | None" = None) -> None:
        self._upstream_port = upstream_port
        self._early: list[bytes] = []
        self.other = other

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Dial upstream for a new client; introduce itself to the client's side otherwise."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's has no base
        if self._upstream_port is None:
            assert self.other is not None
            self.other.joined(self)
            return
        loop = asyncio.get_running_loop()
        self._dialling = loop.create_task(
            loop.create_connection(lambda: Side(None, self), "127.0.0.1", self._upstream_port)
        )

    def joined(self, other: "Side") -> None:
        """Pass on what came before the upstream was there."""
        self.other = other
        for data in self._early:
            other.transport.write(data)
        self._early.clear()

    def data_received(self, data: bytes) -> None:
        """Copy."""
        if self.other is None:
            self._early.append(data)
        else:
            self.other.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the other side too."""
        del exc
        if self.other is not None:
            self.other.transport.close()


async def listen() -> int:
    """Open the port."""
    upstream_port = int(sys.argv[1])
    server = await asyncio.get_running_loop().create_server(
        lambda: Side(upstream_port), "127.0.0.1", 0, backlog=4096
    )
    port: int = server.sockets[0].getsockname()[1]
    return port


if __name__ == "__main__":
    uvloop.run(run_until_told(listen))
