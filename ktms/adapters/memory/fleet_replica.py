"""One replica's hold on the fleet: what it must renew, and what it owes a store that was away.

Implements the ports LeaseStore, WaitingRoom and FleetBoard. Not here: who gets what (`fleet_store.py`).
"""

from collections import deque
from collections.abc import AsyncIterator, Sequence

from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.domain.capacity.node_report import NodeReport
from ktms.domain.ids import LeaseId, ModelName, NodeName
from ktms.ports.fleet_board import BoardView
from ktms.ports.lease_store import Grant, Lease, LeaseStoreAway, Renewed, SlotWish

OWED_MAX = 1_000
"""Releases kept for a store that is away; those beyond end with their leases."""


class MemoryReplica:
    """What one replica sees of the store; `name` tells replicas apart where a duty is claimed."""

    def __init__(self, store: MemoryFleetStore, name: str) -> None:
        self._store = store
        self._name = name
        self._held: dict[LeaseId, Lease] = {}
        self._waiters: dict[tuple[ModelName, str], None] = {}
        self._owed: deque[tuple[Lease, float]] = deque(maxlen=OWED_MAX)

    def busy(self, node: NodeName) -> int:
        """Slots of this node in use, by all replicas."""
        return self._store.busy(node)

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        """Take a slot on the first node that has one free."""
        self._reach()
        grant = self._store.take(wishes, lease_id)
        if grant.lease is not None:
            self._held[lease_id] = grant.lease
        return grant

    def release(self, lease: Lease, *, drain_s: float = 0.0) -> None:
        """Give a slot back, now or as soon as the store is there; twice is harmless."""
        self._held.pop(lease.id, None)
        self._owed.append((lease, drain_s))
        if self._store.away is None:
            self._pay()

    async def renew(self) -> Renewed:
        """Renew what this replica holds, and those who wait."""
        self._reach()
        for model, waiter in self._waiters:
            self._store.wait(model, waiter)
        return self._store.renew(tuple(self._held.values()))

    def join(self, model: ModelName, waiter: str) -> None:
        """Count one more waiter; the next renewal tells a store that is away now."""
        self._waiters[model, waiter] = None
        if self._store.away is None:
            self._store.wait(model, waiter)

    def leave(self, model: ModelName, waiter: str) -> None:
        """Count a waiter off; in a store that is away now it ends by itself."""
        self._waiters.pop((model, waiter), None)
        if self._store.away is None:
            self._store.wait_no_more(model, waiter)

    async def freed(self) -> AsyncIterator[NodeName]:
        """Yield nodes with a freed slot until the news are cut."""
        self._reach()
        listener = self._store.hear()
        try:
            while (node := await listener.get()) is not None:
                yield node
        finally:
            self._store.stop_hearing(listener)
        raise LeaseStoreAway

    async def read(self, nodes: Sequence[NodeName], models: Sequence[ModelName]) -> BoardView:
        """Read counts and reports."""
        self._reach()
        return self._store.read(nodes, models)

    async def claim(self, duty: str, ttl_s: float) -> bool:
        """Claim a duty, or keep it."""
        self._reach()
        return self._store.claim(duty, self._name, ttl_s)

    async def post(self, reports: Sequence[NodeReport]) -> None:
        """Put reports up."""
        self._reach()
        self._store.post(reports)

    async def moment(self) -> float:
        """Give the time of the store."""
        self._reach()
        return self._store.clock.monotonic()

    async def drained(self, nodes: Sequence[NodeName], until: float) -> None:
        """Free the slots of idle nodes that drained before."""
        self._reach()
        for node in nodes:
            self._store.drained(node, until)

    def _reach(self) -> None:
        self._store.check_here()
        self._pay()

    def _pay(self) -> None:
        while self._owed:
            self._store.release(*self._owed.popleft())
