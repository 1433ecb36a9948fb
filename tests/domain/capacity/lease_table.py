"""The life of a lease, and a table of leases: what the scripts of the lease store do, as a model to test them by.

| event | held | draining | gone |
|---|---|---|---|
| TAKEN, RENEWED | held | draining | held |
| RELEASED | gone | draining | gone |
| LEFT (released, but the engine may work on) | draining | draining | gone |
| SEEN_IDLE | held | gone | gone |
| EXPIRED | gone | gone | gone |

A lease that drains is nobody's any more: neither a late renewal nor a second release changes it.
Times are those of the store's own clock, given to every call; nothing here waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ktms.domain.ids import LeaseId, NodeName


class Phase(Enum):
    """Where a lease stands; GONE is also where it begins."""

    HELD = auto()
    DRAINING = auto()
    GONE = auto()


class Event(Enum):
    """What happens to a lease."""

    TAKEN = auto()
    RENEWED = auto()
    RELEASED = auto()
    LEFT = auto()
    SEEN_IDLE = auto()
    EXPIRED = auto()


NEXT = {
    (Phase.HELD, Event.TAKEN): Phase.HELD,
    (Phase.HELD, Event.RENEWED): Phase.HELD,
    (Phase.HELD, Event.RELEASED): Phase.GONE,
    (Phase.HELD, Event.LEFT): Phase.DRAINING,
    (Phase.HELD, Event.SEEN_IDLE): Phase.HELD,
    (Phase.HELD, Event.EXPIRED): Phase.GONE,
    (Phase.DRAINING, Event.TAKEN): Phase.DRAINING,
    (Phase.DRAINING, Event.RENEWED): Phase.DRAINING,
    (Phase.DRAINING, Event.RELEASED): Phase.DRAINING,
    (Phase.DRAINING, Event.LEFT): Phase.DRAINING,
    (Phase.DRAINING, Event.SEEN_IDLE): Phase.GONE,
    (Phase.DRAINING, Event.EXPIRED): Phase.GONE,
    (Phase.GONE, Event.TAKEN): Phase.HELD,
    (Phase.GONE, Event.RENEWED): Phase.HELD,
    (Phase.GONE, Event.RELEASED): Phase.GONE,
    (Phase.GONE, Event.LEFT): Phase.GONE,
    (Phase.GONE, Event.SEEN_IDLE): Phase.GONE,
    (Phase.GONE, Event.EXPIRED): Phase.GONE,
}


@dataclass(frozen=True, slots=True)
class Slot:
    """One node and how many slots it has."""

    node: NodeName
    slots: int


@dataclass(frozen=True, slots=True)
class Held:
    """One lease as its holder knows it."""

    id: LeaseId
    node: NodeName
    slots: int


@dataclass(frozen=True, slots=True)
class Taken:
    """The answer to a take. `known` False: the table has lost its memory, and says nothing yet.

    `busy`: leases on each node looked at, in the order of the wishes, a new one included.
    """

    known: bool
    held: Held | None = None
    busy: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Renewal:
    """The answer to a renewal: `regained` had been lost, `over` are those of them whose node was full."""

    kept: int
    regained: tuple[Held, ...] = ()
    over: tuple[Held, ...] = ()


@dataclass(slots=True)
class Entry:
    """What the table knows of one lease."""

    phase: Phase
    ends_at: float
    over: bool = False


class LeaseTable:
    """Leases of all nodes. Never more of them on a node than it has slots, those marked `over` aside.

    A table that finds itself new grants no takes for `epoch_grace_s` after it was first asked (others may hold
    leases that it has forgotten), but takes up renewals.
    """

    __slots__ = ("_entries", "_epoch_grace_s", "_open", "_opens_at", "_ttl_s")

    def __init__(self, ttl_s: float, epoch_grace_s: float) -> None:
        self._ttl_s = ttl_s
        self._epoch_grace_s = epoch_grace_s
        self._entries: dict[NodeName, dict[LeaseId, Entry]] = {}
        self._open = False
        self._opens_at: float | None = None

    def __repr__(self) -> str:
        return f"LeaseTable({sum(map(len, self._entries.values()))} leases, open={self._open})"

    def take(self, now: float, wishes: Sequence[Slot], lease_id: LeaseId) -> Taken:
        """Take a slot on the first node that has one free. Asked again with the same id: the same lease."""
        if not self._knows(now):
            return Taken(known=False)
        again = next((wish for wish in wishes if self._phase(now, wish.node, lease_id) is Phase.HELD), None)
        busy: list[int] = []
        for wish in wishes:
            live = self._live(now, wish.node)
            if wish is again or (again is None and len(live) < wish.slots and lease_id not in live):
                self._hold(now, wish.node, lease_id)
                return Taken(known=True, held=Held(lease_id, wish.node, wish.slots), busy=(*busy, len(live)))
            busy.append(len(live))
        return Taken(known=True, busy=tuple(busy))

    def renew(self, now: float, leases: Sequence[Held]) -> Renewal:
        """Renew leases; those that the table has lost are taken up again, `over` where their node is full."""
        self._knows(now)
        kept = 0
        regained: list[Held] = []
        over: list[Held] = []
        for lease in leases:
            live = self._live(now, lease.node)
            if lease.id in live:
                kept += 1
                if live[lease.id].phase is Phase.HELD:
                    live[lease.id].ends_at = now + self._ttl_s
                continue
            full = len(live) >= lease.slots
            self._hold(now, lease.node, lease.id, over=full)
            (over if full else regained).append(lease)
        return Renewal(kept, tuple(regained), tuple(over))

    def release(self, now: float, lease: Held, drain_s: float = 0.0) -> None:
        """Give a slot back, after `drain_s` or when the node is seen idle. Twice is harmless."""
        entry = self._live(now, lease.node).get(lease.id)
        if entry is not None and entry.phase is Phase.HELD and drain_s > 0:
            entry.ends_at = now + drain_s
        self._step(lease.node, lease.id, Event.LEFT if drain_s > 0 else Event.RELEASED)

    def drained(self, now: float, node: NodeName) -> None:
        """Hear that the engine of a node is idle: what drains there is gone."""
        for lease_id in list(self._live(now, node)):
            self._step(node, lease_id, Event.SEEN_IDLE)

    def lose_memory(self, now: float) -> None:  # noqa: ARG002  # every event has its time
        """Become empty, as a store that was started anew without its data."""
        self._entries.clear()
        self._open, self._opens_at = False, None

    def open(self) -> None:
        """Grant from now on: whoever asks knows that nobody holds anything."""
        self._open = True

    def busy(self, now: float, node: NodeName) -> int:
        """Count the live leases of a node, draining ones and those that are over included."""
        return len(self._live(now, node))

    def over(self, now: float, node: NodeName) -> int:
        """Count those that were taken up again although the node was full."""
        return sum(entry.over for entry in self._live(now, node).values())

    def _knows(self, now: float) -> bool:
        if not self._open:
            if self._opens_at is None:
                self._opens_at = now + self._epoch_grace_s
            self._open = now >= self._opens_at
        return self._open

    def _live(self, now: float, node: NodeName) -> dict[LeaseId, Entry]:
        entries = self._entries.setdefault(node, {})
        for lease_id in [lease_id for lease_id, entry in entries.items() if entry.ends_at <= now]:
            self._step(node, lease_id, Event.EXPIRED)
        return entries

    def _phase(self, now: float, node: NodeName, lease_id: LeaseId) -> Phase:
        entry = self._live(now, node).get(lease_id)
        return Phase.GONE if entry is None else entry.phase

    def _hold(self, now: float, node: NodeName, lease_id: LeaseId, *, over: bool = False) -> None:
        entry = self._entries[node].get(lease_id)
        if entry is None:
            entry = self._entries[node][lease_id] = Entry(NEXT[Phase.GONE, Event.TAKEN], 0.0, over)
        entry.ends_at = now + self._ttl_s

    def _step(self, node: NodeName, lease_id: LeaseId, event: Event) -> None:
        entry = self._entries[node].get(lease_id)
        if entry is None:
            return
        entry.phase = NEXT[entry.phase, event]
        if entry.phase is Phase.GONE:
            del self._entries[node][lease_id]
