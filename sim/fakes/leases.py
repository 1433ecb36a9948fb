"""Slots of the nodes, counted in memory as in production, with every grant and release written into the journal.

Not here: the rule of who gets a slot (`ktms.adapters.memory`). A host that crashes takes its store with it.
"""

import asyncio
from collections.abc import Sequence

from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import Lease, SlotWish
from sim.journal.journal import Journal
from sim.trace import Trace


class JournalLeases:
    """Implements the `LeaseStore` port for one replica."""

    def __init__(self, host: str, journal: Journal, trace: Trace) -> None:
        self._host = host
        self._port = f"{host}/leases"
        self._journal = journal
        self._trace = trace
        self._store = MemoryLeaseStore()
        self._held: dict[LeaseId, NodeName] = {}

    def held(self) -> int:
        """Count the leases that were taken and not released."""
        return len(self._held)

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Lease | None:
        """Take a slot on the first node that has one free."""
        lease = await self._store.take(wishes, lease_id)
        if lease is None:
            nodes = " ".join(wish.node for wish in wishes)
            self._journal.note("lease_refused", self._host, nodes=nodes)
            self._reply("take", f"none of {nodes}")
            return None
        slots = next(wish.slots for wish in wishes if wish.node == lease.node)
        self._held[lease.id] = lease.node
        self._journal.note("lease_taken", self._host, lease=lease.id, node=lease.node, slots=slots)
        self._reply("take", f"{lease.id} {lease.node}")
        return lease

    def release(self, lease: Lease) -> None:
        """Give a slot back; twice is harmless and noted once."""
        self._store.release(lease)
        if self._held.pop(lease.id, None) is not None:
            self._journal.note("lease_released", self._host, lease=lease.id, node=lease.node)
            self._reply("release", f"{lease.id} {lease.node}")

    def busy(self, node: NodeName) -> int:
        """Slots of this node in use."""
        return self._store.busy(node)

    def _reply(self, method: str, text: str) -> None:
        self._trace.replied(asyncio.get_running_loop().time(), self._port, method, text)
