"""One request on one connection: phases, timers, and what the caller waits for.

As soon as the response is complete the connection goes back to the pool, whatever the caller still has to read.
Each way out (end, failure, expiry, cancellation) passes `_part`, after which the connection knows nothing of this
exchange. Decisions are made after the parser has returned, never inside it.
Not here: bytes to responses (response_reader.py), which connection (client.py, pool.py).
"""

import asyncio
from collections.abc import Callable

from ktms.adapters.upstream_http.connection import Connection
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.ports.upstream import STALE_WITHIN_S, BodySink, Flow, UpstreamFailed

HELD_BYTES_MAX = 256 * 1024
"""What may arrive before the caller asks for it; one read of the loop. Then the peer has to wait."""

END_GRACE_S = 0.1
"""After ENOUGH the end of the message is usually one segment away (a last chunk after `[DONE]`): waiting this long
saves a new connection, TLS included, for each stream. The caller does not wait."""

END_BYTES_MAX = 1024
"""A peer that goes on talking after ENOUGH is cut off at once."""

_DETAILS = {
    FailureKind.FIRST_TOKEN_TIMEOUT: "nothing visible came in time",
    FailureKind.IDLE_TIMEOUT: "the answer stalled",
    FailureKind.TOTAL_TIMEOUT: "the exchange took too long",
}


class StaleConnection(Exception):
    """A reused connection died at once, without a byte of the response: the request may be sent once more."""


class Exchange:
    """Implements `UpstreamAnswer`; `begin` first, at most one waiting call at a time."""

    __slots__ = (
        "_choked_at",
        "_collect_bytes_max",
        "_complete",
        "_connection",
        "_draining",
        "_failure",
        "_first_at",
        "_flowing",
        "_headers",
        "_held",
        "_held_bytes",
        "_loop",
        "_over",
        "_park",
        "_phase",
        "_sink",
        "_timers",
        "_total_at",
        "_waiter",
        "status",
    )

    def __init__(
        self, connection: Connection, timers: Timers, total_at: float, park: Callable[[Connection], None]
    ) -> None:
        self.status = 0
        self._connection: Connection | None = connection
        self._loop = connection.loop
        self._timers = timers
        self._total_at = total_at
        self._park = park
        self._headers: dict[str, bytes] = {}
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._collect_bytes_max: int | None = None
        self._sink: BodySink | None = None
        self._waiter: asyncio.Future[bool] | None = None
        self._failure: UpstreamFailed | None = None
        self._phase = FailureKind.FIRST_TOKEN_TIMEOUT
        self._first_at = 0.0
        self._choked_at: float | None = None
        self._flowing = self._complete = self._draining = self._over = False

    async def begin(self, head: bytes, body: bytes) -> None:
        """Send the request and wait for the response head.

        Raises:
            StaleConnection: the connection had been used before and was dead.
            UpstreamFailed: the head did not come.
        """
        connection = self._connection
        assert connection is not None
        if not connection.usable:
            self._connection = None
            if connection.used:
                raise StaleConnection
            raise UpstreamFailed(FailureKind.CLOSED, "closed before it was used")
        self._first_at = self._loop.time() + self._timers.first_token_s
        connection.start(self, head, body)
        connection.watch(min(self._first_at, self._total_at))
        await self._wait()

    def header(self, name: str) -> str | None:
        """Value of a response header by lower-case name; the first one where it is repeated."""
        value = self._headers.get(name)
        return None if value is None else value.strip(b" \t").decode("latin-1")

    async def read(self, max_bytes: int) -> bytes:
        """Read the whole body; see `UpstreamAnswer`."""
        assert self._sink is None
        if not self._complete:
            declared = self._headers.get("content-length")
            if max(self._held_bytes, int(declared or 0)) > max_bytes:
                self._fail(FailureKind.TOO_LARGE, "the answer is longer than allowed")
            if self._failure is not None:
                raise self._failure
            self._collect_bytes_max = max_bytes
            self._flowing = True
            self._rearm()
            await self._wait()
        elif self._held_bytes > max_bytes:
            raise UpstreamFailed(FailureKind.TOO_LARGE, "the answer is longer than allowed")
        return self._take_held()

    async def pour(self, sink: BodySink) -> bool:
        """Feed the sink; see `UpstreamAnswer`."""
        assert self._sink is None
        if self._held and not self._follow(sink.feed(self._take_held())):
            return self._over
        if self._complete or self._over:
            return True
        if self._failure is not None:
            raise self._failure
        self._sink = sink
        self._rearm()
        return await self._wait()

    def close(self) -> None:
        """Close the connection unless the response is complete or about to be; idempotent."""
        if not self._draining:
            self._fail(FailureKind.CLOSED, "the exchange was given up")

    def shut_down(self) -> None:
        """End the exchange from outside, whatever its state."""
        self._fail(FailureKind.CLOSED, "the gateway is closing its connections")

    # What follows is called by the connection.

    def received(self, data: bytes) -> None:
        """Take bytes of the peer; `ConnectionUser`."""
        connection = self._connection
        assert connection is not None
        reader = connection.reader
        reader.feed(data)
        if not self.status and reader.head_ready:
            self.status = reader.status
            self._headers = reader.headers
            self._wake(outcome=True)
        pieces = reader.pieces
        if pieces:
            reader.pieces = []
            self._take(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if self._connection is None:
            return
        if reader.complete:
            self._finish(connection)
        elif reader.fault is not None:
            self._fail(*reader.fault)

    def lost(self, error: Exception | None) -> None:
        """Take note that the connection is gone; `ConnectionUser`."""
        connection = self._connection
        assert connection is not None
        reader = connection.reader
        if error is None and self.status and reader.until_eof:
            self._finish(connection)
        elif not reader.started and connection.used and self._just_sent():
            self._part()
            self._wake_with(StaleConnection())
        else:
            self._fail(FailureKind.CLOSED, "closed before the answer was complete", error)

    def _just_sent(self) -> bool:
        """Whether the request went out so short a time ago that the peer had not read it (RFC 9110, 9.2.2)."""
        sent_at = self._first_at - self._timers.first_token_s
        return self._loop.time() - sent_at < STALE_WITHIN_S

    def expired(self, now: float) -> None:
        """Take note that the present phase lasted too long; `ConnectionUser`."""
        kind = FailureKind.TOTAL_TIMEOUT if now >= self._total_at else self._phase
        self._fail(kind, _DETAILS[kind])

    # What follows changes the state.

    def _take(self, data: bytes) -> None:
        sink = self._sink
        if sink is None:
            self._hold(data)
            return
        try:
            flow = sink.feed(data)
        except Exception as error:  # noqa: BLE001 - our fault: it belongs to who called `pour`
            self._part(abort=True)
            self._wake_with(error)
            return
        if self._follow(flow) and self._flowing:
            self._rearm()

    def _hold(self, data: bytes) -> None:
        self._held_bytes += len(data)
        if self._draining:
            if self._held_bytes > END_BYTES_MAX:
                self._part(abort=True)
            return
        self._held.append(data)
        if self._collect_bytes_max is not None:
            if self._held_bytes > self._collect_bytes_max:
                self._fail(FailureKind.TOO_LARGE, "the answer is longer than allowed")
            else:
                self._rearm()
        elif self._held_bytes > HELD_BYTES_MAX and self._connection is not None:
            self._connection.pause()

    def _take_held(self) -> bytes:
        held, self._held, self._held_bytes = self._held, [], 0
        return held[0] if len(held) == 1 else b"".join(held)

    def _follow(self, flow: Flow) -> bool:
        """Do what the sink said; False when `pour` is to return."""
        if flow is Flow.FLOWING:
            self._flowing = True
        elif flow is Flow.CHOKED:
            self._choke()
        elif flow is Flow.ENOUGH:
            self._end()
        return flow is Flow.FLOWING or flow is Flow.WAITING

    def _choke(self) -> None:
        self._sink = None
        if self._connection is not None:
            self._choked_at = self._loop.time()
            self._connection.pause()
            self._connection.watch(self._total_at)
        self._wake(outcome=False)

    def _end(self) -> None:
        self._sink = None
        self._over = True
        if self._connection is not None:
            self._draining = True
            self._connection.resume()
            self._connection.watch(self._loop.time() + END_GRACE_S)
        self._wake(outcome=True)

    def _rearm(self) -> None:
        """Set the deadline of the present phase, and read on."""
        connection = self._connection
        if connection is None:
            return
        now = self._loop.time()
        if self._choked_at is not None:
            # Neither timer runs while the client is the one who is slow.
            self._first_at += now - self._choked_at
            self._choked_at = None
        if self._flowing:
            self._phase = FailureKind.IDLE_TIMEOUT
            connection.watch(min(now + self._timers.idle_s, self._total_at))
        else:
            connection.watch(min(self._first_at, self._total_at))
        connection.resume()

    def _finish(self, connection: Connection) -> None:
        reader = connection.reader
        self._complete = True
        reusable = reader.keep_alive and not reader.surplus and connection.flushed
        connection.resume()
        self._part()
        if reusable and connection.usable:
            self._park(connection)
        elif not connection.lost:
            connection.retire()
        self._wake(outcome=True)

    def _fail(self, kind: FailureKind, detail: str, cause: Exception | None = None) -> None:
        if self._connection is None:
            return
        failure = UpstreamFailed(kind, detail)
        failure.__cause__ = cause
        self._failure = failure
        self._part(abort=True)
        self._wake_with(failure)

    def _part(self, *, abort: bool = False) -> None:
        connection, self._connection = self._connection, None
        self._draining = False
        if connection is not None:
            connection.leave()
            if abort:
                connection.abort()

    async def _wait(self) -> bool:
        assert self._waiter is None
        waiter: asyncio.Future[bool] = self._loop.create_future()
        self._waiter = waiter
        try:
            return await waiter
        except asyncio.CancelledError:
            self._part(abort=True)
            raise
        finally:
            self._sink = None
            self._waiter = None

    def _wake(self, *, outcome: bool) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(outcome)

    def _wake_with(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
