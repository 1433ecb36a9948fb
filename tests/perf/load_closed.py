"""Closed loop: each connection sends its next request when the answer to the last one is complete."""

import asyncio
import re
from time import perf_counter_ns
from typing import cast

_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)

CHUNKED_END = b"\r\n0\r\n\r\n"
"""With the line end before it, since a header may end in a nought too."""

GIVE_UP_S = 30.0
"""A subject that answers nothing for so long is broken, not slow."""


class ClosedConnection(asyncio.Protocol):
    """One connection of the closed loop."""

    transport: asyncio.Transport

    def __init__(self, request: bytes, until_ns: int, latencies_ns: list[int]) -> None:
        self._request = request
        self._until_ns = until_ns
        self._latencies_ns = latencies_ns
        self._held = b""
        self._sent_ns = 0
        self.refused: bytes | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's has no base
        self._send()

    def _send(self) -> None:
        self._sent_ns = perf_counter_ns()
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count a complete answer and go on until the time is up."""
        self._held = self._held + data if self._held else data
        if not is_complete(self._held):
            return
        now_ns = perf_counter_ns()
        if not self._held.startswith(b"HTTP/1.1 200"):
            self.refused = self._held[:400]
            self.transport.close()
            return
        self._held = b""
        self._latencies_ns.append(now_ns - self._sent_ns)
        if now_ns < self._until_ns:
            self._send()
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End this connection's part."""
        if exc is not None and self.refused is None:
            self.refused = repr(exc).encode()
        if not self.ended.done():
            self.ended.set_result(None)


def is_complete(answer: bytes) -> bool:
    """Whether this is a whole HTTP answer."""
    head_end = answer.find(b"\r\n\r\n")
    if head_end < 0:
        return False
    length = _LENGTH.search(answer, 0, head_end + 2)
    if length is None:
        return answer.endswith(CHUNKED_END)
    return len(answer) >= head_end + 4 + int(length[1])


async def run_closed(port: int, request: bytes, connections: int, seconds: float) -> dict[str, object]:
    """Run the loop; give the count, the time it took and latencies in milliseconds.

    Raises:
        AssertionError: the subject refused, closed early, or went silent.
    """
    loop = asyncio.get_running_loop()
    latencies_ns: list[int] = []
    started_ns = perf_counter_ns()
    until_ns = started_ns + int(seconds * 1e9)
    made = [
        await loop.create_connection(lambda: ClosedConnection(request, until_ns, latencies_ns), "127.0.0.1", port)
        for _ in range(connections)
    ]
    async with asyncio.timeout(seconds + GIVE_UP_S):
        for _, connection in made:
            await connection.ended
    refused = [connection.refused for _, connection in made if connection.refused is not None]
    assert not refused, f"refused: {refused[0]!r}"
    took_s = (perf_counter_ns() - started_ns) / 1e9
    return {"count": len(latencies_ns), "took_s": took_s, **quantiles_ms(latencies_ns)}


def quantiles_ms(values_ns: list[int]) -> dict[str, float]:
    """Give p50 and p99 in milliseconds; zeros where there is nothing."""
    ordered = sorted(values_ns)
    if not ordered:
        return {"p50_ms": 0.0, "p99_ms": 0.0}
    last = len(ordered) - 1
    return {"p50_ms": ordered[last // 2] / 1e6, "p99_ms": ordered[int(last * 0.99)] / 1e6}
