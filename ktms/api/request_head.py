"""The head of a request as the fast lane reads it: strictly, and none where anything about it is unusual.

Not here: what becomes of a head that is not for the lane (`fast_lane.py`, `listener.py`).
"""

from collections.abc import Mapping

import httptools

from ktms.api.routes import Handler

BODY_BYTES_MAX = 256 * 1024
"""Most conversations; a larger body comes in many reads, where the parsing of the head no longer counts."""

HEADERS_MAX = 100
"""More header lines than any client of ours sends; each costs memory before authentication. On both ways."""

LENGTH_DIGITS_MAX = 20
"""Enough for 64 bits; `int` refuses digits by the thousand that the parsers take as leading zeros."""

_ONCE = frozenset({b"host", b"content-length", b"authorization", b"x-api-key", b"content-type"})
_ODD = frozenset({b"transfer-encoding", b"content-encoding", b"expect", b"upgrade", b"te", b"trailer"})


class RequestHead:
    """One request head: collected by httptools, judged by `read_head`, nothing decided in the callbacks.

    `body_at` is where the body begins in the buffer.
    """

    __slots__ = ("body_at", "body_bytes", "handler", "headers", "keeps", "length", "odd", "seen", "target")

    def __init__(self) -> None:
        self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.seen: set[bytes] = set()
        self.length = b""
        self.odd = False
        self.keeps = True  # not asked of the parser: with an empty body it has forgotten by the time it returns
        self.handler: Handler | None = None
        self.body_at = 0
        self.body_bytes = 0

    def on_url(self, target: bytes) -> None:
        """Take the target, in one piece or several."""
        self.target += target

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header."""
        self.headers.append((name, value))
        lowered = name.lower()
        if lowered in _ONCE:
            self.odd = self.odd or lowered in self.seen
            self.seen.add(lowered)
            if lowered == b"content-length":
                self.length = value
        elif lowered == b"connection":
            self.keeps = self.keeps and b"close" not in value.lower()
        elif lowered in _ODD:
            self.odd = True


def read_head(data: bytes, hot: Mapping[bytes, Handler]) -> RequestHead | None:
    """Parse one head strictly; None where it is not one for the lane."""
    head = RequestHead()
    parser = httptools.HttpRequestParser(head)
    try:
        parser.feed_data(data)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None
    head.handler = hot.get(head.target)
    if head.handler is None or head.odd or len(head.headers) > HEADERS_MAX or parser.get_http_version() != "1.1":
        return None
    if b"host" not in head.seen or not head.length.isdigit() or len(head.length) > LENGTH_DIGITS_MAX:
        return None
    if int(head.length) > BODY_BYTES_MAX:
        return None
    head.body_at, head.body_bytes = len(data), int(head.length)
    return head
