"""HTTP/1.1 for upstreams that count or are measured: as little work per byte as will do, and no check at all.

Not here: the strict reader of the upstreams that watch what they are sent (`http_message.py`).
"""

import re
from collections.abc import Iterator

_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
STREAM_END = b"0\r\n\r\n"


def framed(data: bytes) -> bytes:
    """Make one chunk of a stream."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def whole(body: bytes) -> bytes:
    """Make an answer of JSON that is sent at once."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


class Requests:
    """The requests of one connection, out of the pieces they come in."""

    def __init__(self) -> None:
        self._held = b""

    def fed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield head and body of each request that is complete with this piece."""
        self._held += data
        while True:
            head, found, rest = self._held.partition(b"\r\n\r\n")
            length = _LENGTH.search(head)
            size = int(length[1]) if length else 0
            if not found or len(rest) < size:
                return
            self._held = rest[size:]
            yield head, rest[:size]
