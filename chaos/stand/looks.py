"""Looks at the gateways now and then, as a balancer and an operator look, and once more when all should be quiet.

Facts: `readyz`, the version in force, `sample`, `slots_seen`, and at rest `quiet`. Tasks of a process cannot be
counted from outside, so none are told. Not here: who judges what was seen.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chaos.stand.connections import Connections, connections_of
from chaos.stand.gateway import WORLD, Gateway, metric_in
from chaos.stand.run_journal import RunJournal
from chaos.stand.slots import Slots
from chaos.stand.targets import Targets
from sim.journal.fact import Value

LOOK_EVERY_S = 1.0

REST_WITHIN_S = 30.0
"""Slots drain, queues of usage empty and kept connections are seen to be idle well before."""

REST_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class Seen:
    """One gateway at one moment."""

    connections: Connections
    inflight: float
    waiting: float
    ready: bool
    answering: int

    @property
    def rests(self) -> bool:
        """Whether nothing is under way."""
        return self.ready and not (self.connections.clients or self.inflight or self.waiting or self.answering)


class Looks:
    """Looks while `run` runs. `target_ports` gives where the gateways find their targets."""

    def __init__(
        self,
        gateways: Sequence[Gateway],
        targets: Targets,
        slots: Slots,
        target_ports: Callable[[], frozenset[int]],
        journal: RunJournal,
    ) -> None:
        self._gateways = tuple(gateways)
        self._targets = targets
        self._slots = slots
        self._target_ports = target_ports
        self._journal = journal
        self._versions: dict[str, float] = {}
        self._quiet = False

    async def run(self) -> None:
        """Look at all of them again and again, until cancelled or all is to be quiet."""
        while not self._quiet:
            async with asyncio.TaskGroup() as looks:
                for gateway in self._gateways:
                    looks.create_task(self.look(gateway))
                looks.create_task(self._look_at_slots())
            await asyncio.sleep(LOOK_EVERY_S)

    def end(self) -> None:
        """Look no more: a look is a connection too, and what is under way now is not at rest yet."""
        self._quiet = True

    async def look(self, gateway: Gateway) -> None:
        """Note how one gateway does."""
        await self._ask_ready(gateway)
        seen = await self._seen(gateway)
        if seen is not None and not self._quiet:
            self._journal.note(
                "sample",
                gateway.name,
                tasks=0,
                connections=seen.connections.clients,
                upstream_open=seen.connections.upstream,
                buffered_bytes=0,
                inflight=seen.inflight,
            )

    async def at_rest(self) -> None:
        """Wait until nothing is under way, for so long as it may take, and note what was seen last."""
        deadline = asyncio.get_running_loop().time() + REST_WITHIN_S
        seen, slots = await self._all_seen()
        while not _rest(seen, slots) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(REST_EVERY_S)
            seen, slots = await self._all_seen()
        for gateway, one in zip(self._gateways, seen, strict=True):
            if one is not None:  # who is not seen is missed by the judges
                self._note_quiet(gateway, one)
        self._note_slots(slots)

    async def _all_seen(self) -> tuple[list[Seen | None], dict[str, int]]:
        return [await self._seen(gateway) for gateway in self._gateways], await self._slots.in_use()

    def _note_quiet(self, gateway: Gateway, seen: Seen) -> None:
        self._journal.note(
            "quiet",
            gateway.name,
            tasks=0,
            connections=seen.connections.clients,
            upstream_open=seen.connections.upstream,
            upstream_idle=seen.connections.upstream - seen.answering,
            inflight=seen.inflight,
            leases=0,  # of all gateways together the store tells: `slots_seen`
            ready=seen.ready,
            usage_waiting=seen.waiting,
        )

    async def _ask_ready(self, gateway: Gateway) -> None:
        asked_at = self._journal.now_s
        status, said = await gateway.readyz()
        reasons = said.get("reasons")
        self._journal.note_at(
            asked_at,
            "readyz",
            gateway.name,
            status=status,
            ready=status == 200,
            state=str(said.get("status", "")),
            reasons=" ".join(map(str, reasons)) if isinstance(reasons, list) else "",
        )

    async def _seen(self, gateway: Gateway) -> Seen | None:
        if not gateway.process.running:
            return None
        page = await gateway.page("/metrics")
        status, _ = await gateway.readyz()
        if page is None:
            return None
        self._note_version(gateway, page[1])
        self._note_loop(gateway, page[1])
        found = await asyncio.to_thread(connections_of, gateway.process.pid, gateway.port, self._target_ports())
        return Seen(
            connections=found,
            inflight=metric_in(page[1], "ktms_in_flight") or 0.0,
            waiting=metric_in(page[1], "ktms_usage_events_waiting") or 0.0,
            ready=status == 200,
            answering=self._targets.open_for(gateway.name),
        )

    def _note_version(self, gateway: Gateway, page: str) -> None:
        version = metric_in(page, "ktms_snapshot_version")
        if version is not None and self._versions.get(gateway.name) != version:
            self._versions[gateway.name] = version
            members: dict[str, Value] = {"name": "snapshot_version", "label": "", "value": version}
            self._journal.note("gauge", gateway.name, **members)

    def _note_loop(self, gateway: Gateway, page: str) -> None:
        """Note how late its loop was since the last look, and how often it has stood still so far."""
        series = {"loop_lag_s": "ktms_loop_lag_seconds", "loop_blocked": "ktms_loop_blocked_total"}
        for name, known_as in series.items():
            value = metric_in(page, known_as)
            if value is not None:
                self._journal.note("gauge", gateway.name, name=name, label="", value=value)

    async def _look_at_slots(self) -> None:
        busy = {node: count for node, count in (await self._slots.in_use()).items() if count}
        if not self._quiet:
            self._note_slots(busy)

    def _note_slots(self, slots: dict[str, int]) -> None:
        for node, busy in slots.items():
            self._journal.note("slots_seen", WORLD, node=node, busy=busy)


def _rest(seen: Sequence[Seen | None], slots: dict[str, int]) -> bool:
    return not any(slots.values()) and all(one is not None and one.rests for one in seen)
