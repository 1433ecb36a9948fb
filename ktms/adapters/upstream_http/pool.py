"""Who may use which connection, and who may open one. Bounded per origin and in all; no sockets.

A slot is the right to one connection. It is taken before dialling and given back when the connection is really
gone (or the dialling failed), so descriptors stay bounded whatever dies. A lane is all that belongs to one origin.
Rules: the newest idle connection first (the others age and go); waiters of a lane in their order; lanes that wait
for the bound on all connections take turns; an idle connection of anybody makes room before somebody waits for
ever.
Not here: dialling (dialler.py), what a connection does (connection.py).
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from ktms.adapters.upstream_http.connection import Connection
from ktms.adapters.upstream_http.request_heads import LaneKey
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.routing.outcome import FailureKind
from ktms.ports.upstream import UpstreamFailed


@dataclass(slots=True, eq=False)
class _Lane:
    key: LaneKey
    open: int = 0
    idle: dict[Connection, None] = field(default_factory=dict)
    waiters: OrderedDict["_Waiter", None] = field(default_factory=OrderedDict)


@dataclass(slots=True, eq=False)
class _Waiter:
    grant: asyncio.Future["Connection | Slot"]
    fresh: bool
    promised: bool = False  # a connection is being closed for this one


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """The right to open one connection: `adopt` or `give_back` it."""

    lane: _Lane


class Pool:
    """Connections of all origins. All methods but `acquire` are synchronous and complete."""

    __slots__ = (
        "_adopted",
        "_all_lost",
        "_closed",
        "_idle",
        "_lanes",
        "_open",
        "_settings",
        "_sweep",
        "_waiting",
    )

    def __init__(self, settings: UpstreamSettings) -> None:
        self._settings = settings
        self._open = 0
        self._closed = False
        self._lanes: dict[LaneKey, _Lane] = {}
        self._adopted: dict[Connection, _Lane] = {}
        self._idle: dict[Connection, None] = {}  # oldest first
        self._waiting: OrderedDict[LaneKey, _Lane] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None
        self._all_lost: asyncio.Future[None] | None = None

    @property
    def open_total(self) -> int:
        """Connections that exist or are being dialled."""
        return self._open

    @property
    def idle_total(self) -> int:
        """Connections that wait for a request."""
        return len(self._idle)

    def take_idle(self, key: LaneKey) -> Connection | None:
        """Give the newest idle connection of a lane, if there is one."""
        lane = self._lanes.get(key)
        if lane is None:
            return None
        while lane.idle:
            connection, _ = lane.idle.popitem()
            del self._idle[connection]
            if connection.usable:
                return connection
        return None

    async def acquire(self, key: LaneKey, *, at: float, late: FailureKind, fresh: bool) -> Connection | Slot:
        """Give a connection or the right to open one; `fresh` insists on the latter, and goes first.

        Raises:
            UpstreamFailed: nothing came free until `at` (kind `late`), or the pool is closed.
        """
        if self._closed:
            raise _closed()
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(key)
        if not lane.waiters and self._has_room(lane):
            return self._slot(lane)
        return await self._wait(lane, at, late, fresh=fresh)

    def adopt(self, slot: Slot, connection: Connection) -> None:
        """Take a connection that was opened under `slot`; it is in use."""
        self._adopted[connection] = slot.lane
        if connection.lost:
            self.lost(connection)
        elif self._closed:
            connection.abort()

    def give_back(self, slot: Slot) -> None:
        """Take back a slot under which nothing was opened."""
        self._free(slot.lane)

    def park(self, connection: Connection) -> None:
        """Take back a connection that is ready for another request."""
        lane = self._adopted[connection]
        if self._closed or not connection.usable:
            connection.retire()
        elif not self._hand_over(lane, connection):
            self._keep(lane, connection)

    def lost(self, connection: Connection) -> None:
        """Take note that a connection is gone; one that was never adopted is its dialler's business."""
        lane = self._adopted.pop(connection, None)
        if lane is None:
            return
        if connection in self._idle:
            del self._idle[connection]
            del lane.idle[connection]
        self._free(lane)
        if self._all_lost is not None and not self._adopted and not self._all_lost.done():
            self._all_lost.set_result(None)

    async def close(self) -> None:
        """Refuse everybody from now on, end every exchange, and wait until the connections are gone; once.

        A connection that is being dialled is dropped when it is adopted.
        """
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for lane in self._waiting.values():
            for waiter in lane.waiters:
                if not waiter.grant.done():
                    waiter.grant.set_exception(_closed())
        for connection in tuple(self._idle):
            self._evict(connection)
        for connection in tuple(self._adopted):
            connection.shut_down()
        if self._adopted:
            self._all_lost = asyncio.get_running_loop().create_future()
            await self._all_lost

    async def _wait(self, lane: _Lane, at: float, late: FailureKind, *, fresh: bool) -> Connection | Slot:
        loop = asyncio.get_running_loop()
        waiter = _Waiter(loop.create_future(), fresh)
        lane.waiters[waiter] = None
        if fresh:
            lane.waiters.move_to_end(waiter, last=False)
        self._waiting.setdefault(lane.key, lane)
        self._make_room(lane)
        timer = loop.call_at(at, _expire, waiter, late)
        try:
            return await waiter.grant
        except asyncio.CancelledError:
            self._return_grant(waiter)
            raise
        finally:
            timer.cancel()
            if lane.waiters.pop(waiter, waiter) is None:
                self._forget_if_unused(lane)

    def _return_grant(self, waiter: _Waiter) -> None:
        """Cancelled with the grant already in hand: nobody would give it back."""
        grant = waiter.grant
        if grant.cancelled() or not grant.done() or grant.exception() is not None:
            return
        granted = grant.result()
        if isinstance(granted, Slot):
            self.give_back(granted)
        else:
            self.park(granted)

    def _has_room(self, lane: _Lane) -> bool:
        return (
            lane.open < self._settings.connections_per_origin_max and self._open < self._settings.connections_max
        )

    def _slot(self, lane: _Lane) -> Slot:
        lane.open += 1
        self._open += 1
        return Slot(lane)

    def _free(self, lane: _Lane) -> None:
        lane.open -= 1
        self._open -= 1
        assert lane.open >= 0
        self._serve()
        self._forget_if_unused(lane)

    def _serve(self) -> None:
        """Grant slots to those who wait, for as long as there is room for one of them."""
        while lane := next((lane for lane in self._waiting.values() if self._has_room(lane)), None):
            waiter = self._next_waiter(lane)
            if waiter is not None:
                waiter.grant.set_result(self._slot(lane))

    def _next_waiter(self, lane: _Lane) -> _Waiter | None:
        """Take the first who still waits; the lane goes to the end of the queue, or out of it."""
        found = None
        while lane.waiters and found is None:
            waiter, _ = lane.waiters.popitem(last=False)
            found = None if waiter.grant.done() else waiter
        if lane.waiters:
            self._waiting.move_to_end(lane.key)
        else:
            self._waiting.pop(lane.key, None)
        return found

    def _hand_over(self, lane: _Lane, connection: Connection) -> bool:
        """Give a connection to the first waiter whom it can serve."""
        for waiter in lane.waiters:
            if waiter.grant.done() or waiter.promised:
                continue
            if waiter.fresh:
                waiter.promised = True
                connection.retire()
            else:
                waiter.grant.set_result(connection)
            return True
        return False

    def _keep(self, lane: _Lane, connection: Connection) -> None:
        if len(lane.idle) >= self._settings.idle_per_origin_max:
            connection.retire()
            return
        connection.idle_since = connection.loop.time()
        lane.idle[connection] = None
        self._idle[connection] = None
        self._schedule_sweep(connection.loop)
        lane_max = self._settings.connections_per_origin_max
        if any(waiting.open < lane_max for waiting in self._waiting.values()):
            self._evict(next(iter(self._idle)))

    def _make_room(self, lane: _Lane) -> None:
        """Close an idle connection that stands in the way of a waiter of this lane."""
        if lane.open >= self._settings.connections_per_origin_max:
            victim = next(iter(lane.idle), None)
        else:
            victim = next(iter(self._idle), None)
        if victim is not None:
            self._evict(victim)

    def _evict(self, connection: Connection) -> None:
        del self._idle[connection]
        del self._adopted[connection].idle[connection]
        connection.retire()

    def _forget_if_unused(self, lane: _Lane) -> None:
        if not lane.waiters:
            self._waiting.pop(lane.key, None)
            if not lane.open:
                self._lanes.pop(lane.key, None)

    def _schedule_sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._sweep is None and self._idle:
            self._sweep = loop.call_at(self._oldest_due(), self._sweep_idle, loop)

    def _sweep_idle(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweep = None
        now = loop.time()
        while self._idle and self._oldest_due() <= now:
            self._evict(next(iter(self._idle)))
        self._schedule_sweep(loop)

    def _oldest_due(self) -> float:
        # One sum for both the timer and its check: another rounding would let virtual time stand still.
        return next(iter(self._idle)).idle_since + self._settings.idle_age_s


def _expire(waiter: _Waiter, late: FailureKind) -> None:
    if not waiter.grant.done():
        waiter.grant.set_exception(UpstreamFailed(late, "no connection came free in time"))


def _closed() -> UpstreamFailed:
    return UpstreamFailed(FailureKind.CLOSED, "the gateway is closing its connections")
