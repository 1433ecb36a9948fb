"""Many streams at once: time to the first chunk, gaps between chunks; and streams held open to look at memory."""

import asyncio
from time import perf_counter_ns
from typing import cast

from tests.perf.load_closed import CHUNKED_END, GIVE_UP_S, quantiles_ms

_EVENT = b'"content"'
"""Counts content chunks only: what ends a stream differs between a proxy and the bare upstream."""

_held_open: "list[StreamConnection]" = []


class StreamConnection(asyncio.Protocol):
    """One stream on a connection of its own."""

    transport: asyncio.Transport

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._tail = b""
        self._sent_ns = 0
        self._last_ns = 0
        self.first_ns = 0
        self.gap_ns_max = 0
        self.chunks = 0
        self.complete = False
        self.refused: bytes | None = None
        loop = asyncio.get_running_loop()
        self.begun: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's has no base
        self._sent_ns = perf_counter_ns()
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count chunks and measure."""
        if not self._last_ns and not self.refused and not data.startswith(b"HTTP/1.1 200"):
            self.refused = data[:400]
            self.transport.close()
            return
        now_ns = perf_counter_ns()
        joined = self._tail + data
        events = joined.count(_EVENT)
        self._tail = joined[-(len(_EVENT) - 1) :]
        if not self._last_ns:
            self._last_ns = self._sent_ns
        if events:
            self._arrived(events, now_ns)
        if joined.endswith(CHUNKED_END):
            self.complete = True
            self.transport.close()

    def _arrived(self, events: int, now_ns: int) -> None:
        if self.chunks:
            self.gap_ns_max = max(self.gap_ns_max, now_ns - self._last_ns)
        else:
            self.first_ns = now_ns - self._sent_ns
        self.chunks += events
        self._last_ns = now_ns
        if not self.begun.done():
            self.begun.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """End this stream's part."""
        del exc  # whether it was complete is what counts
        for future in (self.begun, self.ended):
            if not future.done():
                future.set_result(None)


async def _connect(port: int, request: bytes, streams: int, ramp_s: float) -> list[StreamConnection]:
    loop = asyncio.get_running_loop()
    made: list[StreamConnection] = []
    for _ in range(streams):
        _, connection = await loop.create_connection(lambda: StreamConnection(request), "127.0.0.1", port)
        made.append(connection)
        await asyncio.sleep(ramp_s)
    return made


async def run_streams(port: int, request: bytes, streams: int, ramp_s: float) -> dict[str, object]:
    """Run streams to their ends, one begun every `ramp_s`: real clients do not all begin in one instant. Give
    chunks, broken ones, first-chunk times and the worst gap of each.

    Raises:
        AssertionError: the subject refused or went silent.
    """
    started_ns = perf_counter_ns()
    made = await _connect(port, request, streams, ramp_s)
    for connection in made:
        async with asyncio.timeout(GIVE_UP_S):
            await connection.ended
    refused = [connection.refused for connection in made if connection.refused is not None]
    assert not refused, f"refused: {refused[0]!r}"
    gaps = [connection.gap_ns_max / 1e6 for connection in made]
    return {
        "chunks": sum(connection.chunks for connection in made),
        "broken": sum(not connection.complete for connection in made),
        "took_s": (perf_counter_ns() - started_ns) / 1e9,
        "gaps_ms": gaps,
        **quantiles_ms([connection.first_ns for connection in made]),
    }


async def open_streams(port: int, request: bytes, streams: int, ramp_s: float) -> dict[str, object]:
    """Open streams and leave them open once each has its first chunk."""
    made = await _connect(port, request, streams, ramp_s)
    async with asyncio.timeout(GIVE_UP_S):
        for connection in made:
            await connection.begun
    _held_open.extend(made)
    return {"open": sum(connection.chunks > 0 for connection in made)}


def drop() -> dict[str, object]:
    """Leave all streams that were held open."""
    count = len(_held_open)
    for connection in _held_open:
        connection.transport.abort()
    _held_open.clear()
    return {"dropped": count}
