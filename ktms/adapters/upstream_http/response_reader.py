"""Bytes of a connection in, responses out: httptools, made strict and bounded. No sockets, no clock.

Callbacks of the parser only note what they saw; whoever calls `feed` acts after it has returned, since a
connection handed on inside its own callback would be re-entered. What llhttp accepts and we refuse: other transfer
codings than `chunked` alone, any with HTTP/1.0, versions other than 1.0 and 1.1, statuses outside 100 to 599,
interim responses with a body, and endless heads, chunk extensions and trailers.
Not here: what a failure means for the exchange (exchange.py).
"""

import functools
from typing import NamedTuple

import httptools

from ktms.domain.routing.outcome import FailureKind

HEADERS_MAX = 100
"""As many as common servers send and proxies take by default."""

HEAD_BYTES_MAX = 64 * 1024
"""For the heads of one response together, interim ones included."""

INTERIM_MAX = 8
"""`100 Continue`, a few `103 Early Hints`; more is a flood."""

DRY_BYTES_MAX = 64 * 1024
"""Bytes in a row that are no body, after the head: the parser keeps trailers, and extensions can be endless."""

_NAME_BYTES_MAX = 64
"""Longer header names are not worth a place in the cache."""

_LENGTH_DIGITS_MAX = 20
"""Enough for 64 bits; `int` refuses digits by the thousand that llhttp takes as leading zeros."""

_FRAMING = frozenset({"content-length", "transfer-encoding", "content-encoding"})
_UNENCODED = frozenset({b"", b"identity"})
_VERSIONS = frozenset({"1.1", "1.0"})
_BODILESS = frozenset({204, 304})
_SWITCHING = 101


class Fault(NamedTuple):
    """Why the bytes are not taken as a response."""

    kind: FailureKind
    detail: str


@functools.lru_cache(maxsize=512)
def _known_name(name: bytes) -> str:
    return name.decode("latin-1").lower()


def _lower(name: bytes) -> str:
    return _known_name(name) if len(name) <= _NAME_BYTES_MAX else name.decode("latin-1").lower()


class ResponseReader:
    """Reads one response after the other; `expect` before each."""

    __slots__ = (
        "_bad_interim",
        "_header_bytes",
        "_headers_count",
        "_interim_count",
        "_parser",
        "_raw_bytes",
        "_repeated",
        "_seen",
        "_version",
        "complete",
        "fault",
        "head_ready",
        "headers",
        "keep_alive",
        "pieces",
        "started",
        "status",
        "surplus",
        "until_eof",
    )

    def __init__(self) -> None:
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self.expect()

    def expect(self) -> None:
        """Forget the last response: the next byte begins a new one."""
        self.status = 0
        self.headers: dict[str, bytes] = {}
        self.pieces: list[bytes] = []
        self.started = self.head_ready = self.complete = False
        self.until_eof = self.keep_alive = self.surplus = False
        self.fault: Fault | None = None
        self._version = ""
        self._headers_count = self._header_bytes = self._raw_bytes = self._interim_count = 0
        self._seen = self._repeated = self._bad_interim = False

    def discard(self) -> None:
        """Break the cycle between this object and its parser; nothing is fed after it."""
        self._parser = None

    def feed(self, data: bytes) -> None:
        """Take what came; then look at `head_ready`, `pieces` (the caller empties them), `complete` and `fault`.

        A fault inside the body leaves the head and the pieces before it, however the bytes were cut.
        """
        assert self._parser is not None
        self.started = True
        broken = False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            broken = True
        if not self.head_ready:
            self._judge_head(data)
        elif self.pieces:
            self._raw_bytes = 0
        else:
            self._raw_bytes += len(data)
            if self._raw_bytes > DRY_BYTES_MAX:
                self.fault = Fault(FailureKind.MALFORMED, "more framing than body")
        if broken and self.complete:
            self.surplus = True
        elif broken and self.fault is None:
            self.fault = Fault(FailureKind.MALFORMED, "not HTTP/1.1, or badly framed")

    def _judge_head(self, data: bytes) -> None:
        if not self._seen:
            self._raw_bytes += len(data)
        bytes_total = max(self._raw_bytes, self._header_bytes)
        if self._headers_count > HEADERS_MAX or bytes_total > HEAD_BYTES_MAX:
            self.fault = Fault(FailureKind.MALFORMED, "the head is too large")
        elif self._bad_interim or self._interim_count > INTERIM_MAX:
            self.fault = Fault(FailureKind.MALFORMED, "interim responses that cannot be")
        elif self._seen:
            self.fault = self._head_fault()
            self.head_ready = self.fault is None
            self._raw_bytes = 0
        if self.fault is not None:
            self.complete = False
            self.pieces = []

    def _head_fault(self) -> Fault | None:
        headers = self.headers
        coding = headers.get("transfer-encoding")
        length = headers.get("content-length")
        if not 200 <= self.status <= 599 or self._version not in _VERSIONS:
            return Fault(FailureKind.MALFORMED, "the version or the status is not of HTTP/1.1")
        if self._repeated or (coding is not None and length is not None):
            return Fault(FailureKind.MALFORMED, "the framing is ambiguous")
        if coding is not None and (coding.strip().lower() != b"chunked" or self._version == "1.0"):
            return Fault(FailureKind.MALFORMED, "a transfer coding other than chunked")
        if length is not None and len(length) > _LENGTH_DIGITS_MAX:
            return Fault(FailureKind.MALFORMED, "the length is not a number of bytes")
        if headers.get("content-encoding", b"").strip().lower() not in _UNENCODED:
            return Fault(FailureKind.ENCODED, "the answer is compressed although that was not asked for")
        self.until_eof = coding is None and length is None and self.status not in _BODILESS
        return None

    # What follows is called by the parser, inside `feed`.

    def on_message_begin(self) -> None:
        """Note bytes behind a complete response."""
        if self.complete:
            self.surplus = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the first header of each name; trailers and what belongs to a surplus response are dropped."""
        if self._seen:
            return
        self._headers_count += 1
        self._header_bytes += len(name) + len(value)
        if self._headers_count > HEADERS_MAX:
            return
        known = _lower(name)
        if known not in self.headers:
            self.headers[known] = value
        elif known in _FRAMING:
            self._repeated = True

    def on_headers_complete(self) -> None:
        """Note status and version; an interim head leaves nothing but its count."""
        assert self._parser is not None
        if self._seen:
            return
        status = self._parser.get_status_code()
        if 100 <= status <= 199:
            self._interim_count += 1
            if status == _SWITCHING or not _FRAMING.isdisjoint(self.headers):
                self._bad_interim = True
            self.headers = {}
            return
        self.status = status
        self._version = self._parser.get_http_version()
        self._seen = True

    def on_body(self, piece: bytes) -> None:
        """Keep a decoded piece of the body."""
        if not self.complete:
            self.pieces.append(piece)

    def on_message_complete(self) -> None:
        """Note the end, and whether the peer keeps the connection."""
        assert self._parser is not None
        if self._seen and not self.complete:
            self.complete = True
            self.keep_alive = self._parser.should_keep_alive()
