"""Vendors and nodes in memory: each request is answered by a script, and no byte leaves the process.

For tests and for worlds that are simulated at the level of ports. Timers run on the loop's time, so a loop with
virtual time needs no patience. Pieces are never joined or split. Not here: who answers what.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from ktms.domain.routing.outcome import FailureKind
from ktms.domain.snapshot import OriginKey
from ktms.ports.upstream import STALE_WITHIN_S, BodySink, Flow, UpstreamFailed, UpstreamRequest


@dataclass(frozen=True, slots=True)
class Head:
    """The response head comes."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing until somebody sets the event."""

    event: asyncio.Event


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing more, for as long as anybody waits."""


@dataclass(frozen=True, slots=True)
class Fail:
    """The exchange fails in this way."""

    kind: FailureKind


Step = Head | bytes | Pause | Wait | Silence | Fail
Script = Iterable[Step]
"""What happens to one request: the head, then pieces of the body as bytes; at its end the response is complete.

It is advanced step by step, as each is carried out; a generator is closed when the exchange ends, however it ends.
"""

NOBODY: Script = (Fail(FailureKind.REFUSED),)
"""Where nobody listens."""

_DETAIL = "as its script says"


class State(Enum):
    """How far an exchange is; only the first one is not its end."""

    OPEN = "a caller may still wait for something"
    COMPLETE = "the response was taken to its end, the connection may serve again"
    GIVEN_UP = "closed before its end, by whom ever"


class MemoryUpstream:
    """Implements the `Upstream` port. `exchanges` holds all there ever were, in the order of their requests.

    `script_for` says what happens to a request; `left` hears of each whose caller did not stay to the end.
    `keeps_ended` False: `exchanges` holds the open ones only, for processes that live long.
    """

    def __init__(
        self,
        script_for: Callable[[UpstreamRequest], Script],
        *,
        left: Callable[[UpstreamRequest], None] = lambda _: None,
        keeps_ended: bool = True,
    ) -> None:
        self._script_for = script_for
        self._left = left
        self._keeps_ended = keeps_ended
        self._parked: Counter[OriginKey] = Counter()
        self._closed = False
        self.exchanges: list[MemoryExchange] = []

    @property
    def open_total(self) -> int:
        """Exchanges that were neither taken to their end nor given up."""
        return sum(exchange.state is State.OPEN for exchange in self.exchanges)

    async def send(self, request: UpstreamRequest) -> "MemoryExchange":
        """Begin an exchange and wait for the response head; see `Upstream`."""
        now = asyncio.get_running_loop().time
        sent_at = now()
        total_at = sent_at + request.timers.total_s
        used = self._parked[request.origin.key] > 0
        self._parked[request.origin.key] -= used
        exchange = self._exchange(request, total_at)
        try:
            await exchange.begin()
        except UpstreamFailed as failure:
            stale = used and failure.kind is FailureKind.CLOSED and now() - sent_at < STALE_WITHIN_S
            if not stale or self._closed:
                raise
            exchange = self._exchange(request, total_at)  # the connection had died while it was idle
            await exchange.begin()
        return exchange

    async def close(self) -> None:
        """Close all connections; whoever waits for one fails with CLOSED."""
        self._closed = True
        for exchange in tuple(self.exchanges):
            exchange.shut_down()

    def cut(self, key: OriginKey) -> None:
        """Break all connections with an origin, as its reset would; `key` is that of the origin."""
        for exchange in tuple(self.exchanges):
            if exchange.request.origin.key == key:
                exchange.shut_down("closed before the answer was complete")
        del self._parked[key]

    def _exchange(self, request: UpstreamRequest, total_at: float) -> "MemoryExchange":
        if self._closed:
            raise UpstreamFailed(FailureKind.CLOSED, "all connections have been closed")
        exchange = MemoryExchange(request, self._script_for(request), total_at, self._ended)
        self.exchanges.append(exchange)
        return exchange

    def _ended(self, exchange: "MemoryExchange") -> None:
        if not self._keeps_ended:
            self.exchanges.remove(exchange)
        if exchange.state is State.COMPLETE:
            self._parked[exchange.request.origin.key] += 1
        else:
            self._left(exchange.request)


class MemoryExchange:
    """Implements `UpstreamAnswer`; at most one waiting call at a time."""

    def __init__(
        self,
        request: UpstreamRequest,
        script: Script,
        total_at: float,
        ended: Callable[["MemoryExchange"], None],
    ) -> None:
        self.request = request
        self.state = State.OPEN
        self._steps: Iterator[Step] = iter(script)
        self._ended = ended
        self._head = Head(0)
        self._flowing = False
        self._total_at = total_at
        self._heard_at = self._now()
        self._first_at = self._heard_at + request.timers.first_token_s
        self._choked_at: float | None = None
        self._failure: UpstreamFailed | None = None
        self._timer: asyncio.Timeout | None = None

    @property
    def status(self) -> int:
        """HTTP status."""
        return self._head.status

    async def begin(self) -> None:
        """Wait for the head."""
        head = await self._advance()
        assert isinstance(head, Head), f"a script begins with its head, not with {head!r}"
        self._head = head

    def header(self, name: str) -> str | None:
        """Value of a response header by lower-case name; the first one where it is repeated."""
        return next((value for known, value in self._head.headers if known.lower() == name), None)

    async def read(self, max_bytes: int) -> bytes:
        """Read the whole body; see `UpstreamAnswer`."""
        self._flowing = True
        self._heard_at = self._now()
        pieces: list[bytes] = []
        size = 0
        while (piece := await self._piece()) is not None:
            pieces.append(piece)
            size += len(piece)
            if size > max_bytes:
                raise self._fail(FailureKind.TOO_LARGE, "the answer is longer than allowed")
        return b"".join(pieces)

    async def pour(self, sink: BodySink) -> bool:
        """Feed the sink; see `UpstreamAnswer`."""
        self._heard_at = self._now()
        if self._choked_at is not None:  # the timers stand still while the client is the slow one
            self._first_at += self._heard_at - self._choked_at
            self._choked_at = None
        while (piece := await self._piece()) is not None:
            match sink.feed(piece):
                case Flow.FLOWING:
                    self._flowing = True
                case Flow.WAITING:
                    pass
                case Flow.CHOKED:
                    self._choked_at = self._now()
                    return False
                case Flow.ENOUGH:
                    over = next(self._steps, None) is None
                    self._end(State.COMPLETE if over else State.GIVEN_UP)
        return True

    def close(self) -> None:
        """Give up what has not been taken; idempotent."""
        self._end(State.GIVEN_UP)

    def shut_down(self, detail: str = "all connections have been closed") -> None:
        """End from outside, whoever waits."""
        if self.state is State.OPEN:
            self._fail(FailureKind.CLOSED, detail)
            if self._timer is not None:
                self._timer.reschedule(self._now())

    async def _piece(self) -> bytes | None:
        if self._failure is not None:
            raise self._failure
        piece = await self._advance()
        assert not isinstance(piece, Head), "a response has one head"
        self._heard_at = self._now()
        if piece is None:
            self._end(State.COMPLETE)
        return piece

    async def _advance(self) -> Head | bytes | None:
        """Go on to the next thing that comes; None at the end of the script."""
        for step in self._steps:
            match step:
                case Head() | bytes() as comes:
                    return comes
                case Fail(kind):
                    raise self._fail(kind, _DETAIL)
                case Pause() | Wait() | Silence():
                    await self._linger(step)
        return None

    async def _linger(self, step: Pause | Wait | Silence) -> None:
        at, late = self._deadline()
        try:
            async with asyncio.timeout_at(at) as self._timer:
                match step:
                    case Pause(seconds):
                        await asyncio.sleep(seconds)
                    case Wait(event):
                        await event.wait()
                    case Silence():
                        await asyncio.get_running_loop().create_future()
        except TimeoutError as error:
            raise (self._failure or self._fail(late, "nothing came in time")) from error
        except asyncio.CancelledError:
            self.close()
            raise
        finally:
            self._timer = None

    def _deadline(self) -> tuple[float, FailureKind]:
        if self._flowing:
            at, kind = self._heard_at + self.request.timers.idle_s, FailureKind.IDLE_TIMEOUT
        else:
            at, kind = self._first_at, FailureKind.FIRST_TOKEN_TIMEOUT
        return (at, kind) if at < self._total_at else (self._total_at, FailureKind.TOTAL_TIMEOUT)

    def _fail(self, kind: FailureKind, detail: str) -> UpstreamFailed:
        self._failure = UpstreamFailed(kind, detail)
        self._end(State.GIVEN_UP)
        return self._failure

    def _end(self, state: State) -> None:
        if self.state is State.OPEN:
            self.state = state
            steps, self._steps = self._steps, iter(())
            if isinstance(steps, Generator):
                steps.close()
            self._ended(self)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
