"""Leases counted in this process: for one replica, for tests, and for worlds without Redis."""

from collections import defaultdict
from collections.abc import Sequence

from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import Lease, SlotWish


class MemoryLeaseStore:
    """Never grants more leases on a node than the slots it is asked with. Nothing expires: nothing outlives us."""

    def __init__(self) -> None:
        self._held: defaultdict[NodeName, set[LeaseId]] = defaultdict(set)

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Lease | None:
        """Take a slot on the first node that has one free."""
        for wish in wishes:
            held = self._held[wish.node]
            if len(held) < wish.slots:
                held.add(lease_id)
                return Lease(lease_id, wish.node)
        return None

    def release(self, lease: Lease) -> None:
        """Give a slot back; twice is harmless."""
        self._held[lease.node].discard(lease.id)

    def busy(self, node: NodeName) -> int:
        """Slots of this node in use."""
        return len(self._held[node])
