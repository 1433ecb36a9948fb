"""What one replica does with the shared state of the fleet, every step of it written into the journal.

Implements the ports LeaseStore, WaitingRoom and FleetBoard around those that do the work. A fact is what the
replica knows: a grant it was told of, a release it asked for, a store that told it nothing. Not here: the rule of
who gets a slot (`ktms.adapters`), how a store fails where there are no bytes (`fleet_line.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.capacity.node_report import NodeReport
from ktms.domain.ids import LeaseId, ModelName, NodeName
from ktms.ports.fleet_board import BoardView, FleetBoard
from ktms.ports.lease_store import Grant, Lease, LeaseStore, LeaseStoreAway, Renewed, SlotWish
from ktms.ports.waiting_room import WaitingRoom
from sim.journal.journal import Journal
from sim.trace import Trace


class FleetPorts(LeaseStore, WaitingRoom, FleetBoard, Protocol):
    """All three at once, where one object does the work of all."""


@dataclass(frozen=True, slots=True)
class FleetMeans:
    """What does the work."""

    leases: LeaseStore
    room: WaitingRoom
    board: FleetBoard

    @classmethod
    def of(cls, all_of_it: FleetPorts) -> "FleetMeans":
        """Take one object for all three."""
        return cls(all_of_it, all_of_it, all_of_it)


class JournalLeases:
    """Implements the three ports for one replica."""

    def __init__(self, host: str, journal: Journal, trace: Trace, means: FleetMeans) -> None:
        self._host = host
        self._journal = journal
        self._trace = trace
        self._means = means
        self._held: dict[LeaseId, NodeName] = {}
        self._moment = (0.0, 0.0)  # the last one told by the store, and ours

    def held(self) -> int:
        """Count the leases that were taken and not released."""
        return len(self._held)

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        """Take a slot on the first node that has one free."""
        nodes, slots = " ".join(wish.node for wish in wishes), " ".join(str(wish.slots) for wish in wishes)
        try:
            grant = await self._means.leases.take(wishes, lease_id)
        except LeaseStoreAway as away:
            self._unknown("take", away.kind, nodes=nodes)
            raise
        except asyncio.CancelledError:
            self._unknown("take", "cancelled", nodes=nodes)
            raise
        lease = grant.lease
        if lease is None:
            self._note("lease_refused", nodes=nodes, slots=slots)
            self._reply("take", f"none of {nodes} {grant.busy}")
        else:
            self._held[lease.id] = lease.node
            self._note("lease_taken", lease=lease.id, node=lease.node, slots=lease.slots)
            self._reply("take", f"{lease.id} {lease.node} {grant.busy}")
        return grant

    def release(self, lease: Lease, *, drain_s: float = 0.0) -> None:
        """Give a slot back; twice is harmless and noted once."""
        if self._held.pop(lease.id, None) is not None:
            self._note("lease_released", lease=lease.id, node=lease.node, drain_s=drain_s)
        self._means.leases.release(lease, drain_s=drain_s)
        self._reply("release", f"{lease.id} {lease.node} {drain_s}")

    async def renew(self) -> Renewed:
        """Renew all that is held."""
        held = dict(self._held)
        try:
            done = await self._means.leases.renew()
        except LeaseStoreAway as away:
            self._unknown("renew", away.kind)
            raise
        how = {lease.id: "regained" for lease in done.regained} | {lease.id: "over" for lease in done.over}
        for lease, node in held.items():
            if lease in self._held:
                self._note("lease_renewed", lease=lease, node=node, how=how.get(lease, "kept"))
        self._reply("renew", f"{done.kept} {sorted(how.items())}")
        return done

    def join(self, model: ModelName, waiter: str) -> None:
        """Count one more waiter."""
        self._note("waiter_joined", model=model, waiter=waiter)
        self._means.room.join(model, waiter)

    def leave(self, model: ModelName, waiter: str) -> None:
        """Count a waiter off."""
        self._note("waiter_left", model=model, waiter=waiter)
        self._means.room.leave(model, waiter)

    async def freed(self) -> AsyncIterator[NodeName]:
        """Yield nodes with a freed slot."""
        async for node in self._means.room.freed():
            self._reply("freed", node)
            yield node

    async def read(self, nodes: Sequence[NodeName], models: Sequence[ModelName]) -> BoardView:
        """Read counts and reports; often, so only the trace has it."""
        try:
            view = await self._means.board.read(nodes, models)
        except LeaseStoreAway as away:
            self._unknown("read", away.kind)
            raise
        seen = " ".join(f"{one.report.node}:{one.report.look.value}" for one in view.seen)
        self._reply("read", f"{dict(view.busy)} {dict(view.waiting)} {seen}")
        return view

    async def claim(self, duty: str, ttl_s: float) -> bool:
        """Claim a duty, or keep it."""
        try:
            has = await self._means.board.claim(duty, ttl_s)
        except LeaseStoreAway as away:
            self._unknown("claim", away.kind)
            raise
        self._reply("claim", f"{duty} {has}")
        return has

    async def post(self, reports: Sequence[NodeReport]) -> None:
        """Put reports up."""
        for report in reports:
            self._note(
                "node_looked",
                node=report.node,
                look=report.look.value,
                misses=report.misses,
                draining=report.draining,
                slots=report.slots,
                busy=report.busy,
                cold=any(model.loaded is False for model in report.models.values()),
            )
        try:
            await self._means.board.post(reports)
        except LeaseStoreAway as away:
            self._unknown("post", away.kind)
            raise
        self._reply("post", f"{len(reports)}")

    async def moment(self) -> float:
        """Give the time of the store."""
        try:
            moment = await self._means.board.moment()
        except LeaseStoreAway as away:
            self._unknown("moment", away.kind)
            raise
        self._moment = (moment, asyncio.get_running_loop().time())
        return moment

    async def drained(self, nodes: Sequence[NodeName], until: float) -> None:
        """Free the slots of idle nodes that drained before; noted first, since it may take effect unheard."""
        moment, told_at = self._moment
        ago_s = asyncio.get_running_loop().time() - told_at if until == moment else 0.0
        self._note("leases_drained", nodes=" ".join(nodes), ago_s=ago_s)
        try:
            await self._means.board.drained(nodes, until)
        except LeaseStoreAway as away:
            self._unknown("drained", away.kind)
            raise
        self._reply("drained", " ".join(nodes))

    def _unknown(self, operation: str, failure: str, nodes: str = "") -> None:
        self._note("leases_unknown", operation=operation, failure=failure, nodes=nodes)
        self._reply(operation, f"unknown: {failure}")

    def _note(self, kind: str, **members: str | float | bool | None) -> None:
        self._journal.note(kind, self._host, **members)

    def _reply(self, method: str, text: str) -> None:
        self._trace.replied(asyncio.get_running_loop().time(), f"{self._host}/leases", method, text)
