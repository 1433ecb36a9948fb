"""The fast lane: whole, simple requests to the model routes, at a fraction of a general server's cost.

A connection begins here. A request is served in the lane only if nothing about it is unusual: an exact hot
target, HTTP/1.1, one Host, a plain Content-Length within bounds, no coding, no expectation, complete within a
second. At the first request that is anything else, or that the parser does not like, the connection is handed over
to aiohttp with all its unserved bytes, and stays there. So every byte is acted upon by one parser, and whatever is
odd meets the rules of `listener.py` alone.
Not here: what a request means (the doors); limits of slow or large bodies, errors of form (aiohttp).
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from ktms.api.crowd import FRESH_S, Crowd
from ktms.api.inbound import Inbound, RawHeaders
from ktms.api.request_head import RequestHead, read_head
from ktms.api.routes import Handler, Routes, refusal
from ktms.api.way_back import taken
from ktms.api.wire import Dates, Reply
from ktms.domain.errors import ErrorCode, problem
from ktms.domain.fault import fault_of
from ktms.ports.telemetry import Count, Telemetry

HEAD_BYTES_MAX = 16 * 1024
"""A head of an SDK is under 1 kB, with a long trace context 4; a longer one is aiohttp's to judge."""

WHOLE_WITHIN_S = 1.0
"""A client sends head and body at once or in two writes; a slower one is aiohttp's to wait for."""

AHEAD_BYTES_MAX = 64 * 1024
"""What a client may send while its answer is under way; then it has to wait."""

_CROWDED = problem(ErrorCode.OVERLOADED, "Too many connections at once; come back shortly.", retry_after_s=1)
_HTTP11 = (1, 1)
_END = b"\r\n\r\n"


def hot_routes(routes: Routes) -> Mapping[bytes, Handler]:
    """Give the routes that the lane serves: POST on an exact target."""
    return {target.encode(): methods["POST"] for target, methods in routes.items() if "POST" in methods}


class Lanes:
    """What all connections in the lane share, and which they are."""

    def __init__(
        self,
        *,
        hot: Mapping[bytes, Handler],
        dates: Dates,
        telemetry: Telemetry,
        crowd: Crowd,
        head_s: float,
        idle_s: float,
        stall_s: float,
    ) -> None:
        self.hot = hot
        self.starts = tuple(b"POST %b " % target for target in hot)
        self.starts_max_bytes = max(map(len, self.starts), default=0)
        self.dates = dates
        self.telemetry = telemetry
        self.crowd = crowd
        self.head_s = head_s
        self.idle_s = idle_s
        self.stall_s = stall_s
        self.leaving = False
        self.closing = False
        self.open: dict[FastLane, None] = {}

    def close(self) -> None:
        """Take no other request: connections without one under way end now, the others after it."""
        self.leaving = self.closing = True
        for lane in tuple(self.open):
            lane.end_if_idle()

    def make_room(self) -> None:
        """End the oldest connections without a request, as many as are too many."""
        spares, excess = self.crowd.spares_fresh, self.crowd.open + 1 - self.crowd.most
        for lane in tuple(self.open):
            if lane.is_idle and not (spares and lane.is_fresh):
                lane.end_if_idle()
                excess -= 1
            elif lane.is_closing:
                excess -= 1
            if excess <= 0:
                return

    def refuse_call(self, request: Inbound) -> Reply:
        """Write that there are too many connections; this one ends with it."""
        self.telemetry.counted(Count.CALLS_SHED, label="connections")
        return refusal(request, self.dates, _CROWDED, headers=(("Retry-After", "1"),), keeps=False)

    async def stop(self, grace_s: float) -> None:
        """End all connections; a request under way has a moment for its last words."""
        self.close()
        running = [lane.task for lane in self.open if lane.task is not None]
        if running:
            await asyncio.wait(running, timeout=grace_s)
        for lane in tuple(self.open):
            lane.abort()


class _WholeBody:
    """A request body that has come."""

    __slots__ = ("_bytes",)

    def __init__(self, data: bytes) -> None:
        self._bytes = data

    def is_eof(self) -> bool:
        """Say yes."""
        return True

    def read_nowait(self) -> bytes:
        """Give it."""
        return self._bytes

    async def readany(self) -> bytes:
        """Give the end: it was read."""
        return b""


class FastRequest:
    """One request in the lane (`Inbound`)."""

    __slots__ = ("_lane", "content", "content_length", "keep_alive", "raw_headers", "raw_path")

    method = "POST"
    version = _HTTP11

    def __init__(self, lane: "FastLane", path: str, headers: RawHeaders, body: bytes, *, keeps: bool) -> None:
        self._lane = lane
        self.raw_path = path
        self.raw_headers = headers
        self.content = _WholeBody(body)
        self.content_length: int | None = len(body)
        self.keep_alive = keeps

    @property
    def transport(self) -> asyncio.Transport | None:
        """The way back; None once the client has left."""
        return self._lane.transport

    @property
    def writer(self) -> "FastLane":
        """Where to wait while the way back is full."""
        return self._lane

    @property
    def protocol(self) -> "FastLane":
        """Where to see whether it is."""
        return self._lane


class FastLane(asyncio.Protocol):
    """One connection as long as it is in the lane; `general` makes the protocol it is handed over to."""

    def __init__(self, lanes: Lanes, general: Callable[[], asyncio.Protocol]) -> None:
        self._lanes = lanes
        self._general = general
        self._loop = asyncio.get_running_loop()
        self._buffer = b""
        self._head: RequestHead | None = None
        self._begun = False
        self._asked = False
        self._came_at = self._loop.time()
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._drained: asyncio.Future[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.task: asyncio.Task[None] | None = None
        self.writing_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; the first head has a deadline."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's has no base
        lanes = self._lanes
        if lanes.crowd.reached:
            lanes.make_room()
        full = lanes.crowd.full
        lanes.open[self] = None
        lanes.crowd.open += 1
        if lanes.closing or full:
            self.transport.close()
            return
        self._wait(lanes.head_s)

    def data_received(self, data: bytes) -> None:
        """Take bytes; serve a request that is whole, hand over what is not for the lane."""
        self._buffer = self._buffer + data if self._buffer else data
        if self.task is None:
            self._proceed()
        elif len(self._buffer) > AHEAD_BYTES_MAX and self.transport is not None:
            self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """End; a client that left cancels its call."""
        del exc
        self._part()
        self.transport = None
        if self.task is not None:
            self.task.cancel()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def pause_writing(self) -> None:
        """Note that the client does not read as fast as it is written to."""
        self.writing_paused = True

    def resume_writing(self) -> None:
        """Wake who waits for the client."""
        self.writing_paused = False
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    async def drain(self) -> None:
        """Wait until the client takes bytes again."""
        while self.writing_paused and self.transport is not None:
            self._drained = self._loop.create_future()
            await self._drained

    @property
    def is_fresh(self) -> bool:
        """Whether it has just come and was asked for nothing yet."""
        return not self._asked and self._loop.time() - self._came_at < FRESH_S

    @property
    def is_closing(self) -> bool:
        """Whether it is as good as gone."""
        return self.transport is None or self.transport.is_closing()

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way, or on its way, and the connection is not closing."""
        return self.task is None and self._head is None and not self.is_closing

    def end_if_idle(self) -> None:
        """Close unless a request is under way, or on its way."""
        if self.task is None and self._head is None and self.transport is not None:
            self._end()

    def abort(self) -> None:
        """Close whatever is under way."""
        if self.task is not None:
            self.task.cancel()
        if self.transport is not None:
            self.transport.close()

    # What follows decides.

    def _proceed(self) -> None:
        """Serve the next request if it is whole and plain, wait for the rest of it, or hand over."""
        if self._head is None and not self._read_head():
            return
        assert self._head is not None
        whole_bytes = self._head.body_at + self._head.body_bytes
        if len(self._buffer) < whole_bytes:
            return
        head, data = self._head, self._buffer
        self._head, self._buffer = None, data[whole_bytes:]
        self._serve(head, data[head.body_at : whole_bytes])

    def _read_head(self) -> bool:
        """Read the head, once; False while there is more to come of it, or the connection was handed over."""
        lanes, data = self._lanes, self._buffer
        if not data.startswith(lanes.starts):
            may_become = len(data) < lanes.starts_max_bytes and any(
                start.startswith(data) for start in lanes.starts
            )
            if not may_become:
                self._hand_over()
            return False
        end = data.find(_END)
        if end < 0:
            if len(data) > HEAD_BYTES_MAX or b"\n\n" in data:
                self._hand_over()
            elif not self._begun:
                self._begun = True
                self._wait(lanes.head_s)
            return False
        self._head = read_head(data[: end + len(_END)], lanes.hot) if end <= HEAD_BYTES_MAX else None
        if self._head is None:
            self._hand_over()
            return False
        self._wait(WHOLE_WITHIN_S)
        return True

    def _serve(self, head: RequestHead, body: bytes) -> None:
        keeps = head.keeps and not self._lanes.leaving
        request = FastRequest(self, head.target.decode(), tuple(head.headers), body, keeps=keeps)
        assert head.handler is not None
        self._begun, self._asked = False, True
        self.task = self._loop.create_task(self._answer(head.handler, request))

    async def _answer(self, handler: Handler, request: FastRequest) -> None:
        self._lanes.crowd.busy += 1
        try:
            reply = await self._reply(handler, request)
            if reply.body is not None and self.transport is not None:
                self.transport.write(reply.head + reply.body)
                reply.body = None
            if self.writing_paused:
                await taken(request, self._lanes.stall_s)
        finally:
            self.task = None
            self._lanes.crowd.busy -= 1
        if self.transport is None:
            return
        if reply.keeps and not self._lanes.closing:
            self._go_on()
        else:
            self._end()

    async def _reply(self, handler: Handler, request: FastRequest) -> Reply:
        if self._lanes.crowd.refuses_calls:
            return self._lanes.refuse_call(request)
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001 - the boundary: our mistake becomes a 500 and a line in the log
            self._lanes.telemetry.event("error", "internal_error", **fault_of(error))
            cause = problem(ErrorCode.INTERNAL_ERROR, "An internal error; it has been logged.")
            return refusal(request, self._lanes.dates, cause, keeps=False)

    def _go_on(self) -> None:
        """Take the next request; what was sent ahead comes first, and nothing is read before it is used up."""
        self._wait(self._lanes.idle_s)
        if self._buffer:
            self._proceed()
        if self.task is None and self.transport is not None:
            self.transport.resume_reading()

    def _end(self) -> None:
        """Close; a client that does not take what is left for it is cut off in the end."""
        assert self.transport is not None
        self.transport.close()
        self._wait(self._lanes.stall_s)

    def _hand_over(self) -> None:
        """Give the connection to aiohttp, with the bytes that nobody has acted upon."""
        transport, data = self.transport, self._buffer
        assert transport is not None
        self._part()
        self.transport, self._buffer = None, b""
        general = self._general()
        transport.set_protocol(general)
        transport.resume_reading()
        general.connection_made(transport)
        if self.writing_paused:
            general.pause_writing()
        general.data_received(data)

    def _part(self) -> None:
        """Be no more of the lane's; who takes the connection over counts it from here on."""
        if self in self._lanes.open:
            del self._lanes.open[self]
            self._lanes.crowd.open -= 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, seconds: float) -> None:
        """Move the deadline; the timer itself looks at it when it fires, so moving is a store."""
        now = self._loop.time()
        self._due = now + seconds
        if self._timer is None or self._timer.when() > self._due:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self._timer = None
        if self.task is not None:
            self._timer = self._loop.call_later(self._lanes.idle_s, self._look)
        elif self._loop.time() < self._due:
            self._timer = self._loop.call_at(self._due, self._look)
        elif self.transport is not None and self.transport.is_closing():
            self.transport.abort()
        elif self._head is not None:
            self._hand_over()  # the body is slow: there are rules for that
        elif self.transport is not None:
            self._end()
