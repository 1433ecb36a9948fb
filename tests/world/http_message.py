"""Just enough HTTP/1.1 to talk to the gateway and to be its upstream, strict and small.

Parsing is synchronous and incremental, so that each byte keeps the instant at which it arrived. Independent of the
product's own parsers on purpose: a mistake shared by both sides would hide itself.
Not here: sockets (`vendor.py`, `client.py`).
"""

from dataclasses import dataclass
from typing import Protocol

HEAD_BYTES_MAX = 256 * 1024
"""A head longer than this is a mistake of the test or of the gateway, not something to wait for."""


class Malformed(AssertionError):
    """What arrived is not HTTP/1.1 as this project speaks it."""


@dataclass(frozen=True, slots=True)
class MessageHead:
    """Start line and headers as they came."""

    start: str
    headers: tuple[tuple[str, str], ...]

    def all(self, name: str) -> tuple[str, ...]:
        """Give the values of all headers of this name."""
        return tuple(value for key, value in self.headers if key.lower() == name.lower())

    def header(self, name: str) -> str | None:
        """Give the value of a header that must not be repeated; None when absent."""
        values = self.all(name)
        if len(values) > 1:
            raise Malformed(f"{name} is repeated")
        return values[0] if values else None

    @property
    def status(self) -> int:
        """The status code, of a response."""
        return int(self.start.split(" ", 2)[1])

    @property
    def method(self) -> str:
        """The method, of a request."""
        return self.start.split(" ", 2)[0]

    @property
    def target(self) -> str:
        """The request target."""
        return self.start.split(" ", 2)[1]


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request as the vendor saw it; `connection` counts from 0, `at` is the loop time of its last byte."""

    head: MessageHead
    body: bytes
    connection: int
    at: float


def read_head(block: bytes) -> MessageHead:
    """Read a head without its blank line."""
    lines = block.decode("latin-1").split("\r\n")
    headers = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise Malformed(f"not a header line: {line!r}")
        headers.append((name, value.strip()))
    if len(lines[0].split(" ", 2)) < 2:
        raise Malformed(f"not a start line: {lines[0]!r}")
    return MessageHead(lines[0], tuple(headers))


class MessageSink(Protocol):
    """Takes the parts of messages as they come."""

    def on_head(self, head: MessageHead) -> None:
        """Take a complete head."""
        ...

    def on_body(self, data: bytes) -> None:
        """Take body bytes, framing removed."""
        ...

    def on_end(self) -> None:
        """Learn that the message is complete."""
        ...


class Body(Protocol):
    """The framing of one body."""

    def feed(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """Give body bytes, what belongs to the next message, and whether the body is complete."""
        ...


class LengthBody:
    """A body of known length."""

    def __init__(self, length: int) -> None:
        self._left = length

    def feed(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """See `Body`."""
        mine, rest = data[: self._left], data[self._left :]
        self._left -= len(mine)
        return mine, rest, self._left == 0


class CloseBody:
    """A body that ends with its connection."""

    def feed(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """See `Body`."""
        return data, b"", False


class ChunkedBody:
    """A body in chunks; trailers are skipped."""

    def __init__(self) -> None:
        self._held = b""
        self._left = 0  # bytes of the current chunk still to come, its line end included
        self._last = False

    def feed(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """See `Body`."""
        self._held += data
        out: list[bytes] = []
        while True:
            if self._left:
                if not self._take(out):
                    return b"".join(out), b"", False
                continue
            line, found, rest = self._held.partition(b"\r\n")
            if not found:
                return b"".join(out), b"", False
            self._held = rest
            if self._last:
                if not line:
                    return b"".join(out), rest, True
                continue
            self._start(line)

    def _start(self, line: bytes) -> None:
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError as error:
            raise Malformed(f"not a chunk size: {line[:40]!r}") from error
        self._last = size == 0
        self._left = size + 2 if size else 0

    def _take(self, out: list[bytes]) -> bool:
        """Move what there is of the current chunk to `out`; False when more must come."""
        payload = self._left - 2
        if payload > 0:
            mine = self._held[:payload]
            out.append(mine)
            self._held = self._held[len(mine) :]
            self._left -= len(mine)
            if self._left > 2:
                return False
        if len(self._held) < self._left:
            return False
        if self._held[:2] != b"\r\n":
            raise Malformed("a chunk is not followed by a line end")
        self._held = self._held[2:]
        self._left = 0
        return True


class MessageReader:
    """Splits a connection's bytes into messages; `response` says which side is read."""

    def __init__(self, sink: MessageSink, *, response: bool) -> None:
        self._sink = sink
        self._response = response
        self._held = b""
        self._body: Body | None = None

    @property
    def between_messages(self) -> bool:
        """Whether a close now would cut nothing."""
        return self._body is None and not self._held

    def feed(self, data: bytes) -> None:
        """Take bytes as they arrived.

        Raises:
            Malformed: they are not HTTP/1.1.
        """
        while data:
            if self._body is None:
                data = self._feed_head(data)
                continue
            piece, data, complete = self._body.feed(data)
            if piece:
                self._sink.on_body(piece)
            if complete:
                self._finish()

    def closed(self) -> bool:
        """Tell that the connection ended; True when the message in progress is thereby complete."""
        if isinstance(self._body, CloseBody):
            self._finish()
            return True
        return self.between_messages

    def _finish(self) -> None:
        self._body = None
        self._sink.on_end()

    def _feed_head(self, data: bytes) -> bytes:
        self._held += data
        block, found, rest = self._held.partition(b"\r\n\r\n")
        if not found:
            if len(self._held) > HEAD_BYTES_MAX:
                raise Malformed("a head without end")
            return b""
        self._held = b""
        head = read_head(block)
        self._body = self._framing(head)
        self._sink.on_head(head)
        if self._body is None:
            self._sink.on_end()
        return rest

    def _framing(self, head: MessageHead) -> Body | None:
        encoding, length = head.header("transfer-encoding"), head.header("content-length")
        if encoding is not None and length is not None:
            raise Malformed("both a length and a transfer encoding")
        if self._response and (head.status < 200 or head.status in {204, 304}):
            return None
        if encoding is not None:
            if encoding.lower() != "chunked":
                raise Malformed(f"transfer encoding {encoding!r}")
            return ChunkedBody()
        if length is not None:
            return LengthBody(int(length)) if int(length) else None
        return CloseBody() if self._response else None
