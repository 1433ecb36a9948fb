"""`python -m tests.perf.node`: what the filter of a node costs, against its bars.

A request is asked of an engine directly and through the filter, in turns, over one kept connection each; what the
filter adds is the difference of the medians. Its processor time is read from the kernel. The filter has a process
of its own, which knows nothing of the rest of the agent: its memory is a lower bound of the agent's.
"""

import argparse
import json
import socket
import statistics
import sys
import time
from collections.abc import Sequence

from tests.perf.child import child
from tests.perf.node_child import MODEL, TOKEN
from tests.perf.proc import rss_bytes, time_of

REQUEST_MAX_MS = 1.0
PIECE_MAX_US = 100.0
MEMORY_MAX_MB = 60.0
"""The bars; that of memory is for the whole agent."""

REQUESTS = 2_000
WARM = 200
PIECES = 1_000
STREAMS = 4


def request(*, pieces: int = 0) -> bytes:
    """Write a request of a few hundred bytes; with `pieces` for a stream."""
    members: dict[str, object] = {
        "model": MODEL,
        "messages": [{"role": "system", "content": "word " * 60}, {"role": "user", "content": "word " * 40}],
    }
    if pieces:
        members |= {"stream": True, "max_tokens": pieces}
    body = json.dumps(members).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer {TOKEN}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def connected(port: int) -> socket.socket:
    """Open a connection."""
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def asked(wire: socket.socket, sent: bytes) -> float:
    """Ask once; give the milliseconds until the whole answer was there."""
    began = time.perf_counter()
    wire.sendall(sent)
    got = b""
    while b"\r\n\r\n" not in got:
        got += wire.recv(65536)
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    left = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]) - len(body)
    while left > 0:
        left -= len(wire.recv(65536))
    return (time.perf_counter() - began) * 1000


def drained(wires: Sequence[socket.socket]) -> None:
    """Read streams to their end, one after the other: the kernel holds what waits."""
    for wire in wires:
        tail = b""
        while not tail.endswith(b"0\r\n\r\n"):
            got = wire.recv(65536)
            assert got, "the stream ends properly"
            tail = (tail + got)[-16:]


def measure() -> list[tuple[str, float, float]]:
    """Give name, figure and bar of all that is measured."""
    with child("tests.perf.node_child", "engine") as engine:
        url = f"http://127.0.0.1:{engine.port}"
        with child("tests.perf.node_child", "filter", url) as door:
            pids = [door.process.pid]
            start_mb = rss_bytes(pids) / 1e6
            direct, through = connected(engine.port), connected(door.port)
            whole = request()
            for _ in range(WARM):
                asked(direct, whole)
                asked(through, whole)
            before = time_of(pids)
            times = [(asked(direct, whole), asked(through, whole)) for _ in range(REQUESTS)]
            request_us = time_of(pids).since(before).ran_ns / 1000 / REQUESTS
            wires = [connected(door.port) for _ in range(STREAMS)]
            before = time_of(pids)
            for wire in wires:
                wire.sendall(request(pieces=PIECES))
            drained(wires)
            piece_us = time_of(pids).since(before).ran_ns / 1000 / (PIECES * STREAMS)
            end_mb = rss_bytes(pids) / 1e6
    added = statistics.median(one[1] for one in times) - statistics.median(one[0] for one in times)
    return [
        ("added to a request, median, ms", added, REQUEST_MAX_MS),
        ("processor per request, ms", request_us / 1000, REQUEST_MAX_MS),
        ("processor per piece of a stream, us", piece_us, PIECE_MAX_US),
        ("memory at start, MB", start_mb, MEMORY_MAX_MB),
        ("memory after all that, MB", end_mb, MEMORY_MAX_MB),
    ]


def main() -> int:
    """Measure and print; with --strict a missed bar is exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.perf.node", description=__doc__)
    parser.add_argument("--strict", action="store_true", help="exit code 1 when a bar is missed")
    strict = parser.parse_args().strict
    rows = measure()
    for name, figure, bar in rows:
        sys.stdout.write(f"{name:40} {figure:8.2f}   bar {bar:g}\n")
    return 1 if strict and any(figure > bar for _, figure, bar in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
