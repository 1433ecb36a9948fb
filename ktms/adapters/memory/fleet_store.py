"""Leases, waiters, duties and reports of a fleet in this process, by the rules of the store in Redis.

One object is what one Redis would hold; each replica of a world sees it through a `MemoryReplica`. Time is a clock
that tests and worlds move. Not here: what a replica remembers of its own (`fleet_replica.py`).
"""

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ktms.adapters.memory.clock import LoopClock
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.ids import LeaseId, ModelName, NodeName
from ktms.ports.clock import Clock
from ktms.ports.fleet_board import REPORT_TTL_S, SPOKEN_TTL_S, BoardView, Seen
from ktms.ports.lease_store import EPOCH_GRACE_S, LEASE_TTL_S, Grant, Lease, LeaseStoreAway, Renewed, SlotWish

NEWS_MAX = 1_000
"""Freed slots one listener may leave untaken; beyond it the news end, as a slow subscriber's do."""

_DRAINING = "~"
"""Stands around how long it drains, before the name of a lease that is none any more: the engine may work on."""


@dataclass(slots=True)
class MemoryFleetStore:
    """The state itself. `away`, where set, is what every replica is told: the kind of a `LeaseStoreAway`.

    `opened` False begins as a store that was found empty: nothing but renewals for EPOCH_GRACE_S.
    """

    clock: Clock = field(default_factory=LoopClock)
    ttl_s: float = LEASE_TTL_S
    grace_s: float = EPOCH_GRACE_S
    opened: bool = True
    away: str | None = None
    _epoch_at: float | None = None
    _leases: dict[NodeName, dict[str, float]] = field(default_factory=dict)
    _waiters: dict[ModelName, dict[str, float]] = field(default_factory=dict)
    _reports: dict[NodeName, tuple[float, NodeReport]] = field(default_factory=dict)
    _spoken: dict[NodeName, tuple[float, NodeReport]] = field(default_factory=dict)
    _duties: dict[str, tuple[str, float]] = field(default_factory=dict)
    _listeners: dict["asyncio.Queue[NodeName | None]", None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._epoch_at = -math.inf if self.opened else None

    def check_here(self) -> None:
        """Refuse while `away`.

        Raises:
            LeaseStoreAway: as told.
        """
        if self.away is not None:
            raise LeaseStoreAway(self.away)

    def open(self) -> None:
        """Say that nobody can hold what is not here, so that granting begins at once."""
        self._epoch_at = -math.inf

    def lose(self) -> None:
        """Forget everything, as a restart without persistence does; news go on."""
        self._epoch_at = None
        for part in (self._leases, self._waiters, self._reports, self._spoken, self._duties):
            part.clear()

    def busy(self, node: NodeName) -> int:
        """Slots of this node in use, draining ones included."""
        return len(self._alive(node))

    def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        """Grant a slot on the first node that has one free; a lease that is held already is granted again.

        Raises:
            LeaseStoreAway: it is too young to know.
        """
        if self._young():
            raise LeaseStoreAway("unknown")
        held = [lease_id in self._alive(wish.node) for wish in wishes]
        busy: list[int] = []
        for wish, again in zip(wishes, held, strict=True):
            alive = self._alive(wish.node)
            if again or (len(alive) < wish.slots and not any(held)):
                alive[lease_id] = self.clock.monotonic() + self.ttl_s
                busy.append(len(alive))
                return Grant(Lease(lease_id, wish.node, wish.slots), tuple(busy))
            busy.append(len(alive))
        return Grant(None, tuple(busy))

    def release(self, lease: Lease, drain_s: float) -> None:
        """Take a lease away; with `drain_s` something stays in its place for so long. Unknown ones are ignored."""
        held = self._leases.get(lease.node, {})
        if held.pop(lease.id, None) is None:
            return
        if drain_s > 0:
            held[f"{_DRAINING}{drain_s}{_DRAINING}{lease.id}"] = self.clock.monotonic() + drain_s
        else:
            self._tell(lease.node)

    def renew(self, leases: Iterable[Lease]) -> Renewed:
        """Prolong leases, and take up again what was lost, full or not."""
        self._young()
        kept = 0
        regained: list[Lease] = []
        over: list[Lease] = []
        for lease in leases:
            alive = self._alive(lease.node)
            if lease.id in alive:
                kept += 1
            else:
                (regained if len(alive) < lease.slots else over).append(lease)
            alive[lease.id] = self.clock.monotonic() + self.ttl_s
        return Renewed(kept, tuple(regained), tuple(over))

    def wait(self, model: ModelName, waiter: str) -> None:
        """Count a waiter, for as long as a lease lives."""
        self._waiters.setdefault(model, {})[waiter] = self.clock.monotonic() + self.ttl_s

    def wait_no_more(self, model: ModelName, waiter: str) -> None:
        """Count a waiter off."""
        self._waiters.get(model, {}).pop(waiter, None)

    def read(self, nodes: Sequence[NodeName], models: Sequence[ModelName]) -> BoardView:
        """Give counts and reports."""
        self._young()
        now = self.clock.monotonic()
        seen = (
            Seen(told[node][1], now - told[node][0])
            for told, ttl_s in ((self._reports, REPORT_TTL_S), (self._spoken, SPOKEN_TTL_S))
            for node in nodes
            if node in told and now - told[node][0] < ttl_s
        )
        return BoardView(
            {node: self.busy(node) for node in nodes},
            {model: len(_live(self._waiters.setdefault(model, {}), now)) for model in models},
            tuple(seen),
        )

    def claim(self, duty: str, owner: str, ttl_s: float) -> bool:
        """Give a duty to `owner` unless another one has it."""
        now = self.clock.monotonic()
        has, until = self._duties.get(duty, (owner, now))
        if has != owner and until > now:
            return False
        self._duties[duty] = (owner, now + ttl_s)
        return True

    def post(self, reports: Iterable[NodeReport]) -> None:
        """Put reports up."""
        now = self.clock.monotonic()
        for report in reports:
            told = self._spoken if report.look is Look.SPOKE else self._reports
            told[report.node] = (now, report)

    def drained(self, node: NodeName, until: float) -> None:
        """Free the slots of a node that drained before."""
        alive = self._alive(node)
        gone = [member for member, ends in alive.items() if _drained_before(member, ends, until)]
        for member in gone:
            del alive[member]
        if gone:
            self._tell(node)

    def hear(self) -> "asyncio.Queue[NodeName | None]":
        """Begin to listen; None in the queue is the end."""
        listener: asyncio.Queue[NodeName | None] = asyncio.Queue(NEWS_MAX + 1)
        self._listeners[listener] = None
        return listener

    def stop_hearing(self, listener: "asyncio.Queue[NodeName | None]") -> None:
        """Stop listening; twice is harmless."""
        self._listeners.pop(listener, None)

    def cut_news(self) -> None:
        """Lose every listener's connection."""
        for listener in tuple(self._listeners):
            self._end(listener)

    def _tell(self, node: NodeName) -> None:
        for listener in tuple(self._listeners):
            if listener.qsize() >= NEWS_MAX:
                self._end(listener)
            else:
                listener.put_nowait(node)

    def _end(self, listener: "asyncio.Queue[NodeName | None]") -> None:
        self.stop_hearing(listener)
        listener.put_nowait(None)

    def _young(self) -> bool:
        """Whether others may hold leases that are not here; whoever finds the store empty begins its epoch."""
        now = self.clock.monotonic()
        if self._epoch_at is None:
            self._epoch_at = now
        return now - self._epoch_at < self.grace_s

    def _alive(self, node: NodeName) -> dict[str, float]:
        return _live(self._leases.setdefault(node, {}), self.clock.monotonic())


def _drained_before(member: str, ends: float, until: float) -> bool:
    """Whether a member began to drain before this moment, in whole milliseconds as Redis counts them."""
    if not member.startswith(_DRAINING):
        return False
    since = ends - float(member.split(_DRAINING, 2)[1])
    return round(since * 1000) < round(until * 1000)


def _live(members: dict[str, float], now: float) -> dict[str, float]:
    """Drop what is over, in place."""
    for member in [member for member, until in members.items() if until <= now]:
        del members[member]
    return members
