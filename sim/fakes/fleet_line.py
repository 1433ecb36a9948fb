"""What each replica has of the fleet where there are no bytes: slots, waiters and the board of a `SharedStore`.

Rules: whoever gave up waiting gives a lease back that it was never told of. Not here: how the store fails
(`shared_store.py`), its rules (`ktms.adapters.memory`), facts (`leases.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.domain.capacity.node_report import NodeReport
from ktms.domain.ids import LeaseId, ModelName, NodeName
from ktms.ports.fleet_board import BoardView
from ktms.ports.lease_store import Grant, Lease, LeaseStoreAway, Renewed, SlotWish
from sim.fakes.shared_store import SharedStore


class FleetLine:
    """One process's way to the store; implements the ports LeaseStore, WaitingRoom and FleetBoard.

    `name` tells processes apart where a duty is claimed.
    """

    def __init__(self, shared: SharedStore, name: str) -> None:
        self._shared = shared
        self._way = shared.way_of(name)
        self._replica = MemoryReplica(shared.store, name)

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        """Take a slot on the first node that has one free."""
        try:
            return await self._way.ask(
                lambda: self._replica.take(wishes, lease_id), lambda: self._unheard_take(wishes, lease_id)
            )
        except (LeaseStoreAway, asyncio.CancelledError) as error:
            if not isinstance(error, LeaseStoreAway) or error.kind == "timeout":
                for wish in wishes:
                    self.release(Lease(lease_id, wish.node, wish.slots))
            raise

    def release(self, lease: Lease, *, drain_s: float = 0.0) -> None:
        """Give a slot back, as soon as the store is asked again."""
        self._way.tell(lambda: self._replica.release(lease, drain_s=drain_s))

    async def renew(self) -> Renewed:
        """Renew what this replica holds, and those who wait."""
        return await self._way.ask(self._replica.renew)

    def join(self, model: ModelName, waiter: str) -> None:
        """Count one more waiter."""
        self._replica.join(model, waiter)

    def leave(self, model: ModelName, waiter: str) -> None:
        """Count a waiter off."""
        self._replica.leave(model, waiter)

    async def freed(self) -> AsyncIterator[NodeName]:
        """Yield nodes with a freed slot until the news are cut."""
        if self._way.silenced:
            raise LeaseStoreAway("silenced")
        async for node in self._replica.freed():
            yield node

    async def read(self, nodes: Sequence[NodeName], models: Sequence[ModelName]) -> BoardView:
        """Read counts and reports."""
        return await self._way.ask(lambda: self._replica.read(nodes, models))

    async def claim(self, duty: str, ttl_s: float) -> bool:
        """Claim a duty, or keep it."""
        return await self._way.ask(lambda: self._replica.claim(duty, ttl_s))

    async def post(self, reports: Sequence[NodeReport]) -> None:
        """Put reports up."""
        await self._way.ask(lambda: self._replica.post(reports))

    async def moment(self) -> float:
        """Give the time of the store."""
        return await self._way.ask(self._replica.moment)

    async def drained(self, nodes: Sequence[NodeName], until: float) -> None:
        """Free the slots of idle nodes that drained before."""
        await self._way.ask(lambda: self._replica.drained(nodes, until))

    def _unheard_take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> None:
        with suppress(LeaseStoreAway):  # it may be too young to know
            self._shared.store.take(wishes, lease_id)
