"""The upstream of the benchmark, in a process of its own: `python -m tests.perf.mock_upstream`.

Answers every POST at once with a constant body, or streams at the pace the request asks for. Says its port on the
first line of its output, ends when its standard input does.
"""

import asyncio
import re
from typing import cast

import uvloop

from tests.perf import wire
from tests.perf.child import run_until_told
from tests.world.bare_http import STREAM_END, STREAM_HEAD, Requests, framed, whole

_STREAM = re.compile(rb'"bench_chunks":(\d+),"bench_every_ms":(\d+),"bench_hold":(\d)')

_ANSWER = whole(wire.answer_body())
_CONTENT = framed(wire.content_event())


class MockConnection(asyncio.Protocol):
    """One connection: requests in order, one stream at a time."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._requests = Requests()
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's has no base

    def data_received(self, data: bytes) -> None:
        """Answer each complete request."""
        for _, body in self._requests.fed(data):
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        wanted = _STREAM.search(body)
        if wanted is None:
            self.transport.write(_ANSWER)
            return
        self.transport.write(STREAM_HEAD)
        Stream(self.transport, self._loop, int(wanted[1]), int(wanted[2]) / 1000, hold=wanted[3] == b"1").tick()


class Stream:
    """One stream: a chunk at each due instant, without drift."""

    __slots__ = ("_chunks", "_every_s", "_hold", "_loop", "_sent", "_start", "_transport")

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        chunks: int,
        every_s: float,
        *,
        hold: bool,
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._chunks = chunks
        self._every_s = every_s
        self._hold = hold
        self._sent = 0
        self._start = loop.time()

    def tick(self) -> None:
        """Send what is due."""
        if self._transport.is_closing():
            return
        if self._sent < self._chunks:
            self._sent += 1
            self._transport.write(_CONTENT)
            self._loop.call_at(self._start + self._sent * self._every_s, self.tick)
        elif not self._hold:
            self._transport.write(framed(wire.last_events(self._chunks)) + STREAM_END)


async def listen() -> int:
    """Open the port."""
    server = await asyncio.get_running_loop().create_server(MockConnection, "127.0.0.1", 0, backlog=4096)
    port: int = server.sockets[0].getsockname()[1]
    return port


if __name__ == "__main__":
    uvloop.run(run_until_told(listen))
