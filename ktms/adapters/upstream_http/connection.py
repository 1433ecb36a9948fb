"""One connection: transport, reader and the one timer that all its phases share.

A deadline is moved by a store; the loop's handle stays where it is and looks at the store when it fires. Only a
deadline that comes nearer costs a new handle.
Not here: what a request is waiting for (exchange.py), who may use the connection next (pool.py).
"""

import asyncio
import hashlib
import math
import socket
from collections.abc import Callable
from typing import Protocol, cast

from ktms.adapters.upstream_http.response_reader import ResponseReader

JOINED_BODY_BYTES_MAX = 16 * 1024
"""A body up to this size leaves in one write with its head; above it the copy costs more than the second write."""

SLICE_BYTES = 256 * 1024
"""A large body goes to the transport in slices, so its buffer holds one slice and TLS does not hold the loop."""

KEEPALIVE_PROBE_S = 60
"""A prefill may be silent for minutes: TCP probes keep middle boxes from forgetting the connection."""


class ConnectionUser(Protocol):
    """Whoever has the connection for the moment."""

    def received(self, data: bytes) -> None:
        """Take bytes of the peer."""
        ...

    def lost(self, error: Exception | None) -> None:
        """Take note that the connection is gone; None means a clean end."""
        ...

    def expired(self, now: float) -> None:
        """Take note that the deadline given to `watch` has passed."""
        ...

    def shut_down(self) -> None:
        """Let go of the connection, closed."""
        ...


class Connection(asyncio.Protocol):
    """A connection to one origin. `used` tells whether a request was sent on it before."""

    __slots__ = (
        "_due",
        "_on_lost",
        "_reading",
        "_secure",
        "_timer",
        "_timer_at",
        "_transport",
        "_unsent",
        "_user",
        "_writable",
        "idle_since",
        "loop",
        "lost",
        "reader",
        "used",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, on_lost: Callable[["Connection"], None]) -> None:
        self.loop = loop
        self.reader = ResponseReader()
        self.used = False
        self.lost = False
        self.idle_since = 0.0
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._user: ConnectionUser | None = None
        self._secure = False
        self._unsent: memoryview | None = None
        self._writable = True
        self._reading = True
        self._due = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    @property
    def usable(self) -> bool:
        """Whether a request may be sent on it, as far as this side knows."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def certificate(self) -> str | None:
        """SHA-256 of the certificate that the peer showed, in hex; None without TLS."""
        secured = self._open_transport().get_extra_info("ssl_object")
        shown = None if secured is None else secured.getpeercert(binary_form=True)
        return None if shown is None else hashlib.sha256(shown).hexdigest()

    @property
    def flushed(self) -> bool:
        """Whether the whole request has left."""
        return self._unsent is None and (self._transport is None or self._transport.get_write_buffer_size() == 0)

    def start(self, user: ConnectionUser, head: bytes, body: bytes) -> None:
        """Send a request on behalf of `user`, who hears of everything until `leave`."""
        assert self._user is None
        assert self._transport is not None
        self._user = user
        self.reader.expect()
        if len(body) <= JOINED_BODY_BYTES_MAX:
            self._transport.write(head + body)
            return
        self._transport.write(head)
        self._unsent = memoryview(body)
        self._send_on()

    def leave(self) -> None:
        """Part with the user; bytes that still come then spoil the connection."""
        self._user = None
        self._due = math.inf
        self.used = True

    def watch(self, due: float) -> None:
        """Set the instant at which the user's `expired` is called, replacing the last one."""
        self._due = due
        if self._timer is None or self._timer_at > due:
            if self._timer is not None:
                self._timer.cancel()
            self._set_timer(due)

    def pause(self) -> None:
        """Stop reading; what the peer sends stays with it."""
        if self._reading and self.usable:
            self._reading = False
            self._open_transport().pause_reading()

    def resume(self) -> None:
        """Read on."""
        if not self._reading and self.usable:
            self._reading = True
            self._open_transport().resume_reading()

    def abort(self) -> None:
        """Close at once, dropping what has not left; the peer sees it within one turn of the loop."""
        self._unsent = None
        if self._transport is not None:
            self._transport.abort()

    def retire(self) -> None:
        """Close a connection on which nothing is under way.

        A TLS transport would wait for the peer's farewell, which says nothing after a whole answer: it is aborted,
        and so is one whose request the peer answered without reading it.
        """
        if self._secure or not self.flushed or self._transport is None:
            self.abort()
        else:
            self._transport.close()

    def shut_down(self) -> None:
        """Close at once, whatever is under way, and tell the user."""
        if self._user is None:
            self.abort()
        else:
            self._user.shut_down()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)
        self._secure = transport.get_extra_info("sslcontext") is not None
        _tune(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Hand bytes to the user; bytes nobody asked for make the connection unusable."""
        if self._user is None:
            self.abort()
        else:
            self._user.received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the user, then the owner."""
        self.lost = True
        user, self._user = self._user, None
        self._unsent = None
        self._due = math.inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if user is not None:
            user.lost(exc)
        self.reader.discard()
        self._on_lost(self)

    def pause_writing(self) -> None:
        """Hold back the rest of the body."""
        self._writable = False

    def resume_writing(self) -> None:
        """Go on with the rest of the body."""
        self._writable = True
        self._send_on()

    def _send_on(self) -> None:
        while self._unsent is not None and self._writable and self.usable:
            piece, rest = self._unsent[:SLICE_BYTES], self._unsent[SLICE_BYTES:]
            self._unsent = rest if len(rest) else None
            self._open_transport().write(piece)

    def _open_transport(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    def _set_timer(self, at: float) -> None:
        self._timer_at = at
        self._timer = self.loop.call_at(at, self._look)

    def _look(self) -> None:
        self._timer = None
        now = self.loop.time()
        if now < self._due:
            if self._due < math.inf:
                self._set_timer(self._due)
        elif self._user is not None:
            self._due = math.inf
            self._user.expired(now)


def _tune(sock: socket.socket | None) -> None:
    # A loop without real sockets (simulation) has none to give.
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle_option = getattr(socket, "TCP_KEEPIDLE", None)  # absent on macOS
    if idle_option is not None:
        sock.setsockopt(socket.IPPROTO_TCP, idle_option, KEEPALIVE_PROBE_S)
