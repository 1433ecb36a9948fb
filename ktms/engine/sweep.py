"""What keeps this replica's leases alive and its view of the fleet fresh.

Rules: leases are renewed in one round trip per tick, whatever their number; the view is read at most once a
second, or every POLL_S while somebody waits; a store that is away
changes nothing but `known`.
"""

import asyncio

from ktms.domain.ids import NodeName
from ktms.engine.fleet import Fleet
from ktms.engine.lasting import run_lasting
from ktms.engine.waiting import POLL_S, Queues
from ktms.ports.fleet_board import FleetBoard
from ktms.ports.lease_store import RENEW_EVERY_S, LeaseStore, LeaseStoreAway
from ktms.ports.telemetry import Dependency, Gauge, Telemetry
from ktms.ports.waiting_room import WaitingRoom

VIEW_EVERY_S = 1.0

POLLED_MAX = 256
"""Nodes read per poll while somebody waits: the next free slot is among those, or the next full view finds it."""

RENEW_AGAIN_S = 1.0
"""Pause before a renewal that failed: a store that is back and empty soon grants what we hold to others (FR11)."""

LISTEN_AGAIN_S = 1.0
"""Pause before the news of free slots are listened to again; polls go on meanwhile."""


class Sweeper:
    """The loops of one replica that lean on the lease store."""

    def __init__(
        self,
        *,
        board: FleetBoard,
        fleet: Fleet,
        leases: LeaseStore,
        queues: Queues,
        room: WaitingRoom,
        telemetry: Telemetry,
    ) -> None:
        self._board = board
        self._fleet = fleet
        self._leases = leases
        self._queues = queues
        self._room = room
        self._telemetry = telemetry

    async def run(self) -> None:
        """Renew, read and listen until cancelled."""
        loops = {
            "renew-leases": self._renew,
            "read-fleet": self._view,
            "poll-queues": self._poll,
            "hear-free-slots": self._listen,
        }
        await run_lasting(loops, self._telemetry)

    async def look(self) -> None:
        """Read the board once, about everything."""
        await self._read([state.node.name for state in self._fleet.nodes])
        self._fleet.rank()
        self._queues.pump_all()
        for state in self._fleet.nodes:
            self._telemetry.gauge(Gauge.NODE_SLOTS_BUSY, state.busy, state.node.name)
            self._telemetry.gauge(Gauge.NODE_HEALTH, state.health.value, state.node.name)
        for desk in self._fleet.desks:
            self._telemetry.gauge(Gauge.QUEUE_WAITING, desk.here + desk.elsewhere, desk.model)
            error = desk.calibration.error
            if error is not None:
                self._telemetry.gauge(Gauge.QUEUE_FORECAST_ERROR, error, desk.model)

    async def renew(self) -> bool:
        """Renew all leases once; False: the store was away."""
        try:
            done = await self._leases.renew()
        except LeaseStoreAway as away:
            self._away("renew_leases", away)
            return False
        for over, leases in ((False, done.regained), (True, done.over)):
            for lease in leases:
                self._telemetry.event("warning", "lease_regained", node=lease.node, over=str(over))
        return True

    async def _renew(self) -> None:
        pause_s = RENEW_EVERY_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = RENEW_EVERY_S if await self.renew() else RENEW_AGAIN_S

    async def _view(self) -> None:
        while True:
            if self._fleet.nodes:
                await self.look()
            await asyncio.sleep(VIEW_EVERY_S)

    async def _poll(self) -> None:
        while True:
            await self._queues.somebody_waits()
            names: dict[NodeName, None] = {}
            for desk in self._queues.desks:
                for seat in desk.seats[:POLLED_MAX]:
                    names[seat.state.node.name] = None
            await self._read(list(names)[:POLLED_MAX])
            self._queues.pump_all()
            await asyncio.sleep(POLL_S)

    async def _listen(self) -> None:
        while True:
            if not self._fleet.nodes:
                await asyncio.sleep(LISTEN_AGAIN_S)
                continue
            try:
                async for node in self._room.freed():
                    self._fleet.freed(node)
                    self._queues.pump_each(self._fleet.desks_of(node))
            except LeaseStoreAway:
                pass  # polls and views say so already
            await asyncio.sleep(LISTEN_AGAIN_S)

    async def _read(self, nodes: list[NodeName]) -> None:
        try:
            view = await self._board.read(nodes, [desk.model for desk in self._fleet.desks])
        except LeaseStoreAway as away:
            self._fleet.known = False
            self._away("read_fleet", away)
            return
        self._fleet.known = True
        self._fleet.apply(view)

    def _away(self, operation: str, away: LeaseStoreAway) -> None:
        self._telemetry.dependency_failed(Dependency.REDIS, operation, away.kind)
