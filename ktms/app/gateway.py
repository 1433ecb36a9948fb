"""A gateway that runs: the world it needs, its settings, and its life from the first snapshot to the last flush.

Not here: how its parts are wired (`assemble.py`), signals (`running.py`).
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ktms.api.body import BodyLimits
from ktms.api.listener import Listener, ListenerSettings
from ktms.api.node.downloads import DownloadsOf
from ktms.api.routes import Routes
from ktms.app.batch_parts import BatchPorts, BatchSettings
from ktms.domain.capacity.fleet_status import FleetStatus
from ktms.engine.drain import Drain
from ktms.engine.lasting import Loop, run_lasting
from ktms.engine.outbox import Outbox
from ktms.engine.readiness import Readiness
from ktms.engine.refresh import Refresher
from ktms.engine.settings import EngineSettings
from ktms.engine.snapshot_keeper import SnapshotKeeper
from ktms.ports.answer_cache import AnswerCache
from ktms.ports.catalogue import CatalogueStore
from ktms.ports.change_feed import ChangeFeed
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy
from ktms.ports.fleet_board import FleetBoard
from ktms.ports.key_store import KeyStore
from ktms.ports.lease_store import LeaseStore
from ktms.ports.ledger import Ledger
from ktms.ports.node_registry import NodeRegistry
from ktms.ports.quota_store import QuotaStore
from ktms.ports.repeats import Repeats
from ktms.ports.snapshot_file import SnapshotFile
from ktms.ports.spool import Spool
from ktms.ports.telemetry import Telemetry
from ktms.ports.upstream import Upstream
from ktms.ports.usage_reports import UsageReports
from ktms.ports.waiting_room import WaitingRoom


@dataclass(frozen=True, slots=True)
class Ports:
    """The world, as far as the gateway needs it.

    `exposition` gives the metrics page; `address_refusal` says why a node may not lie at an address. Without a
    `snapshot_file` a start waits for the database; without `agent_files` no machine installs itself from here.
    """

    clock: Clock
    entropy: Entropy
    upstream: Upstream
    leases: LeaseStore
    room: WaitingRoom
    board: FleetBoard
    catalogue: CatalogueStore
    keys: KeyStore
    nodes: NodeRegistry
    address_refusal: Callable[[str], str | None]
    changes: ChangeFeed
    ledger: Ledger
    reports: UsageReports
    quotas: QuotaStore
    answers: AnswerCache
    repeats: Repeats
    spool: Spool
    batches: BatchPorts
    telemetry: Telemetry
    exposition: Callable[[], bytes]
    snapshot_file: SnapshotFile | None = None
    agent_files: DownloadsOf | None = None


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Settings of all parts."""

    engine: EngineSettings = field(default_factory=EngineSettings)
    listener: ListenerSettings = field(default_factory=ListenerSettings)
    body: BodyLimits = field(default_factory=BodyLimits)
    batches: BatchSettings = field(default_factory=BatchSettings)
    metrics_apart: bool = False  # /metrics on a port of its own: `start_metrics`
    drain_delay_s: float = 5.0  # the listener stays open for the balancer
    shutdown_s: float = 30.0  # then running calls have this long
    flush_s: float = 2.0  # and the books this long; the process is gone within 40 s in all


@dataclass(frozen=True, slots=True)
class GatewayParts:
    """What a gateway is made of; `works` run beside its calls, `readiness` and `fleet` tell how it does."""

    ports: Ports
    settings: GatewaySettings
    listener: Listener
    metrics: Listener
    refresher: Refresher
    keeper: SnapshotKeeper
    works: Mapping[str, Loop]
    outbox: Outbox
    drain: Drain
    readiness: Callable[[], Readiness]
    fleet: Callable[[], FleetStatus]
    routes: Routes


class Gateway:
    """A gateway that can be run: `start`, `run` beside it, then `drain` and `stop`. `routes` are its doors."""

    def __init__(self, parts: GatewayParts) -> None:
        self._ports = parts.ports
        self._settings = parts.settings
        self._listener = parts.listener
        self._metrics = parts.metrics
        self._refresher = parts.refresher
        self._keeper = parts.keeper
        self._works = parts.works
        self._outbox = parts.outbox
        self._drain = parts.drain
        self._stopped = False
        self.readiness = parts.readiness
        self.fleet = parts.fleet
        self.routes = parts.routes

    async def start(self, host: str, port: int, *, reuse_port: bool = False) -> int:
        """Load the newest snapshot if the store answers, else the saved one; open the port, give its number.

        Raises:
            OSError: the address is taken or not ours.
        """
        await self._refresher.refresh()
        if not self._refresher.store_answers:
            await self._keeper.restore()
        return await self._listener.start(host, port, reuse_port=reuse_port)

    @property
    def started_alone(self) -> bool:
        """Whether it serves what was saved, since the store did not answer at the start."""
        return self._keeper.started_alone

    async def start_metrics(self, host: str, port: int) -> int:
        """Open a port for the metrics alone, and give its number.

        Raises:
            OSError: the address is taken or not ours.
        """
        return await self._metrics.start(host, port)

    async def run(self) -> None:
        """Keep snapshot, keys, leases and the view of the fleet fresh until cancelled."""
        await run_lasting(self._works, self._ports.telemetry)

    async def drain(self) -> None:
        """Leave in order: unready at once, no new connections after the delay, then running calls end (FG1)."""
        self._drain.leave()
        self._listener.leave()
        await asyncio.sleep(self._settings.drain_delay_s)
        self._drain.close()
        self._listener.close()
        try:
            async with asyncio.timeout(self._settings.shutdown_s):
                await self._drain.quiet()
                await self._listener.quiet()
        except TimeoutError:
            self._ports.telemetry.event("warning", "drain_timed_out", calls=self._drain.inflight)

    async def stop(self) -> None:
        """End at once: calls still running get a final error event; books are flushed. Twice is harmless."""
        if self._stopped:
            return
        self._stopped = True
        self._drain.close()
        self._drain.cut()
        await self._listener.stop()
        await self._metrics.stop()
        await self._ports.upstream.close()
        try:
            async with asyncio.timeout(self._settings.flush_s):
                await self._outbox.flush()
        except TimeoutError:
            self._ports.telemetry.event("warning", "ledger_not_flushed", events=self._outbox.depth)
        finally:
            self._outbox.close()
