"""The way back to the gateway: one answer, whole or piece by piece, with pings while a stream is silent.

Rules: heads are ours, with nothing of the engine's but its kind and Retry-After; a piece leaves in the turn it
came in, as one chunk and one write; a ping stands only where an event may begin, since one within an event would
end it; a client that takes no byte is cut off. What fails is told as an error while nothing has left, as an
event between events, else by cutting the connection, so that nobody takes a half for a whole.
Not here: what the pieces are (`relay.py`), which answers there are (`door.py`).
"""

import asyncio
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from ktms.node.filter.bounds import Bounds
from ktms.node.filter.refused import Refused

Headers = tuple[tuple[str, str], ...]

JSON = "application/json"
EVENTS = "text/event-stream"
PING = b": ping\n\n"

_EVENT_HEADERS: Headers = (("Cache-Control", "no-cache"), ("X-Accel-Buffering", "no"))
_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_TAIL_BYTES = 3
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # an event has one line; between members of JSON they say the same
_LAST_CHUNK = b"0\r\n\r\n"
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class Dates:
    """The Date header (RFC 9110, 6.6.1), made once a second; `now` gives seconds since 1970."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._second = -1
        self._text = ""

    def text(self) -> str:
        """Give its value for this second."""
        second = int(self._now())
        if second != self._second:
            self._second, self._text = second, formatdate(second, usegmt=True)
        return self._text


class Told(web.StreamResponse):
    """What aiohttp is given for an answer whose bytes have gone to the transport already."""

    def __init__(self, status: int, *, keeps: bool) -> None:
        super().__init__(status=status)
        self._keeps = keeps

    @property
    def keep_alive(self) -> bool:
        """Whether the connection serves another request."""
        return self._keeps

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Do nothing: the head has gone."""
        del request
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: the body ends where its framing says."""
        assert not data, "the body has gone"


class WayBack:
    """The answer to one request. `status` is 0 until there is a head."""

    __slots__ = (
        "_bounds",
        "_chunked",
        "_dates",
        "_events",
        "_held",
        "_keeps",
        "_loop",
        "_ping_timer",
        "_request",
        "_sent_at",
        "_tail",
        "headers",
        "status",
    )

    def __init__(self, request: web.BaseRequest, dates: Dates, bounds: Bounds) -> None:
        self._request = request
        self._dates = dates
        self._bounds = bounds
        self._loop = asyncio.get_running_loop()
        self._keeps = request.keep_alive
        self._chunked = False
        self._events = False
        self._tail = b"\n\n\n"
        self._held = b""
        self._sent_at = 0.0
        self._ping_timer: asyncio.TimerHandle | None = None
        self.headers: Headers = ()
        self.status = 0

    @property
    def begun(self) -> bool:
        """Whether there is a head."""
        return self.status > 0

    @property
    def is_full(self) -> bool:
        """Whether the client has not taken enough of what was sent for more to be sent."""
        return self._request.protocol.writing_paused

    def whole(self, status: int, body: bytes, *, headers: Headers = (), ends: bool = False) -> None:
        """Send a complete answer; the one to HEAD has no body, whatever its length says (RFC 9110, 9.3.2)."""
        self._keeps = self._keeps and not ends
        head = self._head(status, JSON, f"Content-Length: {len(body)}", headers)
        self._write(head if self._request.method == "HEAD" else head + body)

    def refuse(self, why: Refused) -> None:
        """Send a refusal."""
        self.whole(why.status, why.error, headers=why.headers, ends=why.ends)

    def expect_events(self) -> None:
        """Send pings from here on while nothing else is sent; the first of them sends the head of a stream."""
        self._events = True
        self._sent_at = self._loop.time()
        self._ping_timer = self._loop.call_later(self._bounds.ping_s, self._ping)

    def begin(self, kind: str, length: int | None = None) -> None:
        """Send the head of a 200 whose body follows in pieces; `length` None: it is not known.

        That of a stream leaves at once, any other with the first piece, in one write.
        """
        self._events = kind == EVENTS
        self._chunked = length is None
        framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        head = self._head(200, kind, framing, _EVENT_HEADERS if self._events else ())
        if self._events:
            self._write(head)
        else:
            self._held = head

    def send(self, piece: bytes) -> None:
        """Send a piece of the body."""
        if self._events:
            self._tail = piece[-_TAIL_BYTES:] if len(piece) >= _TAIL_BYTES else (self._tail + piece)[-_TAIL_BYTES:]
            self._sent_at = self._loop.time()
        held, self._held = self._held, b""
        self._write(held + (b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece))

    def end(self) -> None:
        """End the body."""
        self.close()
        last = self._held + (_LAST_CHUNK if self._chunked else b"")
        if last:
            self._write(last)

    def fail(self, why: Refused) -> None:
        """Tell a failure as well as can be told by now."""
        self.close()
        if self._held:
            self._held, self.status = b"", 0
        if not self.begun:
            self.refuse(why)
        elif self._between_events:
            self.send(b"data: " + why.error.translate(_ONE_LINE) + b"\n\n")
            self.end()
        elif self._request.transport is not None:
            self._request.transport.abort()

    def close(self) -> None:
        """Send no more pings."""
        if self._ping_timer is not None:
            self._ping_timer.cancel()
            self._ping_timer = None

    async def taken(self) -> None:
        """Wait until the client has taken most of what was sent; cut it off when it takes no byte for long.

        Raises:
            ConnectionResetError: it was cut off, or has left.
        """
        request = self._request
        while request.protocol.writing_paused:
            transport = _open(request)
            left_bytes = transport.get_write_buffer_size()
            try:
                async with asyncio.timeout(self._bounds.stall_s):
                    await request.writer.drain()
            except TimeoutError:
                if transport.get_write_buffer_size() >= left_bytes:
                    transport.abort()
                    raise ConnectionResetError("the client takes nothing") from None

    def told(self) -> Told:
        """Give what aiohttp wants to have."""
        return Told(self.status, keeps=self._keeps)

    @property
    def _between_events(self) -> bool:
        return self._events and self._tail.endswith(_ENDS)

    def _ping(self) -> None:
        """Send a ping if it is time for one; while the client takes nothing it would only fill its buffer."""
        due = self._sent_at + self._bounds.ping_s
        if self._loop.time() < due:
            self._ping_timer = self._loop.call_at(due, self._ping)
            return
        self._ping_timer = self._loop.call_later(self._bounds.ping_s, self._ping)
        if not self._between_events or self._request.protocol.writing_paused or self._request.transport is None:
            return
        if not self.begun:
            self.begin(EVENTS)
        self._write(b"%x\r\n%b\r\n" % (len(PING), PING))

    def _head(self, status: int, kind: str, framing: str, headers: Headers) -> bytes:
        assert not self.begun, "one answer has one head"
        self.status = status
        lines = [
            f"HTTP/1.1 {status} {_REASONS.get(status, '')}",
            f"Date: {self._dates.text()}",
            f"Content-Type: {kind}",
            framing,
            *(f"{name}: {value}" for name, value in (*self.headers, *headers)),
            *(() if self._keeps else ("Connection: close",)),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")

    def _write(self, data: bytes) -> None:
        _open(self._request).write(data)


def _open(request: web.BaseRequest) -> asyncio.Transport:
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client has left")
    return transport
