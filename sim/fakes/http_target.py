"""A target as an HTTP/1.1 server on transports (level WIRE): what it does becomes bytes.

One object is the factory of its connections. No tasks: a pause is a timer of the loop, and a connection that is
lost closes the answer where it stands. Not here: what is answered (`target.py`), the network (`sim/network`).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

import httptools

from sim.fakes.asking import Headers
from sim.fakes.steps import Cut, Head, How, Pause, Piece, Raw, Steps
from sim.fakes.target import Target

REQUESTS_AHEAD_MAX = 1
"""Requests taken while another is answered; then the connection is not read any more."""

_REASONS = {200: b"OK", 400: b"Bad Request", 401: b"Unauthorized", 404: b"Not Found", 429: b"Too Many Requests"}

Asking = tuple[str, str, Headers, bytes, bool]
"""Method, path, headers, body, and whether the connection ends with its answer."""


def peer_host(transport: asyncio.BaseTransport) -> str:
    """Give the host at the other end, as the transport knows it."""
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) and peer else ""


class HttpTarget:
    """Makes the connections of one target; `gateway_of` names who is at the other end, `reset` sends RST.

    `open_total`: connections that are open. `keep_alive_s`: how long an idle one is kept, its engine's habit.
    """

    def __init__(
        self,
        target: Target,
        *,
        gateway_of: Callable[[asyncio.BaseTransport], str] = peer_host,
        reset: Callable[[asyncio.Transport], None] = lambda transport: transport.abort(),
    ) -> None:
        self.target = target
        self.gateway_of = gateway_of
        self.reset = reset
        self.keep_alive_s = target.dialect.keep_alive_s
        self.open_total = 0

    def __call__(self) -> asyncio.Protocol:
        """Make the server's end of a new connection."""
        return _Connection(self)


class _Connection(asyncio.Protocol):
    """One connection: reads requests, answers them in order, one at a time."""

    _transport: asyncio.Transport
    _loop: asyncio.AbstractEventLoop

    def __init__(self, house: HttpTarget) -> None:
        self._house = house
        self._gateway = ""
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._path = b""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._asked: deque[Asking] = deque()
        self._steps: Steps | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._head = b""  # leaves together with what follows at once
        self._chunked = False
        self._last = False  # the connection ends with this answer
        self._choked = False
        self._over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        self._transport = cast("asyncio.Transport", transport)
        self._loop = asyncio.get_running_loop()
        self._gateway = self._house.gateway_of(transport)
        self._house.open_total += 1
        self._rest()

    def data_received(self, data: bytes) -> None:
        """Read requests; what is none is answered with 400 and the end."""
        if self._parser is None:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._parser = None
            if self._steps is None:
                self._transport.write(
                    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
            self._end()
            return
        if self._steps is None and self._asked:
            self._begin()
        if len(self._asked) >= REQUESTS_AHEAD_MAX and not self._over:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Take the end of the peer's bytes for its leaving."""
        self._leave()
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # how it was lost changes nothing
        """Leave."""
        self._leave()
        self._parser = None
        self._house.open_total -= 1

    def pause_writing(self) -> None:
        """Stand still: the peer does not read."""
        self._choked = True

    def resume_writing(self) -> None:
        """Go on, unless a pause is under way."""
        self._choked = False
        if self._steps is not None and self._timer is None:
            self._go_on()

    # What follows is called by the parser.

    def on_message_begin(self) -> None:
        """Forget the last request."""
        self._path = b""
        self._headers, self._body = [], []

    def on_url(self, url: bytes) -> None:
        """Take a part of the path."""
        self._path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._headers.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_body(self, data: bytes) -> None:
        """Take a part of the body."""
        self._body.append(data)

    def on_message_complete(self) -> None:
        """Put the request into the queue."""
        assert self._parser is not None
        method = self._parser.get_method().decode("ascii")
        last = not self._parser.should_keep_alive()
        path, body = self._path.decode("latin-1"), b"".join(self._body)
        self._asked.append((method, path, tuple(self._headers), body, last))

    # What follows carries answers out.

    def _begin(self) -> None:
        """Answer the next request."""
        self._stop_timer()
        method, path, headers, body, self._last = self._asked.popleft()
        self._steps = self._house.target.respond(method, path, headers, body, self._gateway)
        self._go_on()

    def _go_on(self) -> None:
        """Carry steps out until one takes time."""
        self._timer = None
        steps = self._steps
        while steps is not None and not self._choked:
            step = next(steps, None)
            if type(step) is Piece:
                self._write(step.data)
            elif type(step) is Pause:
                self._flush()
                self._timer = self._loop.call_later(step.seconds, self._go_on)
                return
            elif type(step) is Head:
                self._head = self._encoded(step)
            elif step is None:
                self._complete()
                return
            else:
                self._flush()
                if type(step) is Raw:
                    self._transport.write(step.data)
                elif type(step) is Cut:
                    self._cut(step.how)
                    return
                else:
                    return  # silence: until the peer has had enough

    def _encoded(self, head: Head) -> bytes:
        lines = [b"HTTP/1.1 %d %b" % (head.status, _REASONS.get(head.status, b"Status"))]
        lines.append(b"Content-Type: %b" % head.content_type.encode("latin-1"))
        lines += [f"{name}: {value}".encode("latin-1") for name, value in head.headers]
        self._chunked = head.length is None
        if head.length is None:
            lines.append(b"Transfer-Encoding: chunked")
        elif head.length >= 0:
            lines.append(b"Content-Length: %d" % head.length)
        else:
            self._last = True
        if self._last:
            lines.append(b"Connection: close")
        return b"\r\n".join([*lines, b"", b""])

    def _write(self, data: bytes) -> None:
        if self._chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        if self._head:
            data, self._head = self._head + data, b""
        self._transport.write(data)

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def _complete(self) -> None:
        """End the answer, and go on to the next request or to rest."""
        self._flush()
        self._steps = None
        if self._chunked:
            self._transport.write(b"0\r\n\r\n")
        if self._last:
            self._end()
        elif self._asked:
            self._transport.resume_reading()
            self._begin()
        else:
            self._rest()

    def _cut(self, how: How) -> None:
        self._leave()
        if how is How.RST:
            self._house.reset(self._transport)
        else:
            self._transport.close()

    def _rest(self) -> None:
        """Wait for the next request, but not for ever."""
        self._timer = self._loop.call_later(self._house.keep_alive_s, self._end)

    def _end(self) -> None:
        self._leave()
        self._transport.close()

    def _leave(self) -> None:
        """Give up what is under way."""
        self._over = True
        self._stop_timer()
        self._asked.clear()
        steps, self._steps = self._steps, None
        if steps is not None:
            steps.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
