"""The gateway from its ports: the same assembly in production, in tests and in the simulator.

Takes ports and a snapshot, returns a gateway; reads no clock, no chance, no environment and knows no adapter.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from ktms.api.body import BodyLimits
from ktms.api.health.door import HealthDoor
from ktms.api.listener import Listener, ListenerSettings
from ktms.api.node.door import NodeDoor
from ktms.api.openai.door import OpenAIDoor
from ktms.api.routes import Routes
from ktms.api.status_table import status_of
from ktms.api.wire import Dates
from ktms.app.batch_parts import BatchParts, BatchPorts, BatchSettings, BatchSurroundings, batch_parts
from ktms.domain.capacity.fleet_status import FleetStatus
from ktms.domain.snapshot import Snapshot
from ktms.engine.admit import Admission
from ktms.engine.answer_cache import CachedAnswers, CacheMeans
from ktms.engine.attempt import Attempts
from ktms.engine.budget import Budget, BudgetMeans
from ktms.engine.condition import Condition
from ktms.engine.current import Current
from ktms.engine.drain import Drain
from ktms.engine.fleet import Fleet
from ktms.engine.ids import Identities
from ktms.engine.loads import Loads
from ktms.engine.look import Looks
from ktms.engine.node_walk import Machines
from ktms.engine.outbox import Outbox
from ktms.engine.place import Placer
from ktms.engine.probe import Prober
from ktms.engine.quota_upkeep import QuotaUpkeep
from ktms.engine.readiness import Readiness, judge
from ktms.engine.refresh import Refresher
from ktms.engine.repeats import KeyedCalls, RepeatMeans
from ktms.engine.settings import EngineSettings
from ktms.engine.settle import Bookkeeper
from ktms.engine.sweep import Sweeper
from ktms.engine.switchboard import Parts, Switchboard
from ktms.engine.waiting import Queues
from ktms.engine.walk import Means
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
from ktms.ports.spool import Spool
from ktms.ports.telemetry import Telemetry
from ktms.ports.upstream import Upstream
from ktms.ports.usage_reports import UsageReports
from ktms.ports.waiting_room import WaitingRoom

Work = Callable[[], Coroutine[None, None, None]]
"""Something that runs beside the calls until it is cancelled."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The world, as far as the gateway needs it.

    `exposition` gives the metrics page; `address_refusal` says why a node may not lie at an address.
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
    works: tuple[Work, ...]
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
        self._works = parts.works
        self._outbox = parts.outbox
        self._drain = parts.drain
        self._stopped = False
        self.readiness = parts.readiness
        self.fleet = parts.fleet
        self.routes = parts.routes

    async def start(self, host: str, port: int, *, reuse_port: bool = False) -> int:
        """Load the newest snapshot if the store answers, open the port, give its number.

        Raises:
            OSError: the address is taken or not ours.
        """
        await self._refresher.refresh()
        return await self._listener.start(host, port, reuse_port=reuse_port)

    async def start_metrics(self, host: str, port: int) -> int:
        """Open a port for the metrics alone, and give its number.

        Raises:
            OSError: the address is taken or not ours.
        """
        return await self._metrics.start(host, port)

    async def run(self) -> None:
        """Keep snapshot, keys, leases and the view of the fleet fresh until cancelled."""
        async with asyncio.TaskGroup() as group:
            for work in self._works:
                group.create_task(work())

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


def assemble(ports: Ports, snapshot: Snapshot | None, settings: GatewaySettings) -> Gateway:
    """Wire a gateway; nothing runs before `start`."""
    clock, telemetry = ports.clock, ports.telemetry
    current, drain = Current(snapshot, clock), Drain()
    admission = Admission(ports.keys, clock, telemetry, settings.engine)
    identities = Identities(clock, ports.entropy)
    outbox = Outbox(ports.ledger, ports.spool, ports.entropy, telemetry)
    machines, looks = _machines(ports, identities, settings.engine), Looks(ports.upstream)
    current.on_swap(machines.fleet.sync)
    budget = Budget(
        BudgetMeans(ports.quotas, ports.reports, clock, telemetry, dollars_closed=settings.engine.dollars_closed)
    )
    keyed = _keyed_calls(ports, settings.engine)
    inner = _Inner(admission, budget, current, drain, identities, keyed, machines, outbox)
    engine = _engine(ports, settings.engine, inner)
    refresher = _refresher(ports, admission, current, settings.engine)

    readiness = _readiness(inner)
    dates = Dates(clock)
    openai = OpenAIDoor(engine, identities, clock, dates, settings.body)
    health = HealthDoor(readiness, ports.exposition, dates)
    nodes = _node_door(ports, looks, identities, dates)
    batches = _batches(ports, settings, engine, inner, dates)
    routes = {**openai.routes(), **batches.routes, **health.routes(), **nodes.routes()}
    if not settings.metrics_apart:
        routes |= health.metrics_routes()
    return Gateway(
        GatewayParts(
            ports=ports,
            settings=settings,
            listener=Listener(routes, dates, settings.listener, telemetry),
            metrics=Listener(health.metrics_routes(), dates, settings.listener, telemetry),
            refresher=refresher,
            works=(
                refresher.run,
                outbox.run,
                keyed.run,
                QuotaUpkeep(ports.quotas, ports.reports, budget, ports.entropy, telemetry).run,
                *_fleet_works(ports, machines, looks),
                *batches.works,
            ),
            outbox=outbox,
            drain=drain,
            readiness=readiness,
            fleet=machines.fleet.status,
            routes=routes,
        )
    )


def _readiness(inner: "_Inner") -> Callable[[], Readiness]:
    def readiness() -> Readiness:
        return judge(
            draining=inner.drain.leaving,
            version=inner.current.version,
            postgres_answers=inner.admission.store_answers,
            key_window_open=inner.admission.window_open(),
            nodes_known=inner.machines.fleet.known,
        )

    return readiness


def _batches(
    ports: Ports, settings: GatewaySettings, engine: Switchboard, inner: "_Inner", dates: Dates
) -> BatchParts:
    around = BatchSurroundings(
        engine=engine,
        admission=inner.admission,
        identities=inner.identities,
        drain=inner.drain,
        outbox=inner.outbox,
        board=ports.board,
        clock=ports.clock,
        entropy=ports.entropy,
        telemetry=ports.telemetry,
        dates=dates,
        body=settings.body,
    )
    return batch_parts(ports.batches, around, settings.batches)


def _refresher(ports: Ports, admission: Admission, current: Current, settings: EngineSettings) -> Refresher:
    return Refresher(
        store=ports.catalogue,
        feed=ports.changes,
        admission=admission,
        current=current,
        entropy=ports.entropy,
        telemetry=ports.telemetry,
        settings=settings,
    )


def _keyed_calls(ports: Ports, settings: EngineSettings) -> KeyedCalls:
    runs_s = settings.call_total_s + settings.client_stall_s
    return KeyedCalls(RepeatMeans(ports.repeats, ports.board, ports.clock, ports.telemetry, runs_s))


def _node_door(ports: Ports, looks: Looks, identities: Identities, dates: Dates) -> NodeDoor:
    return NodeDoor(
        ports.nodes,
        looks,
        ports.address_refusal,
        identities=identities,
        clock=ports.clock,
        dates=dates,
        telemetry=ports.telemetry,
    )


def _fleet_works(ports: Ports, machines: Machines, looks: Looks) -> tuple[Work, ...]:
    sweeper = Sweeper(
        board=ports.board,
        fleet=machines.fleet,
        leases=ports.leases,
        queues=machines.queues,
        room=ports.room,
        telemetry=ports.telemetry,
    )
    prober = Prober(machines, ports.board, looks)
    return sweeper.run, prober.run


def _machines(ports: Ports, identities: Identities, settings: EngineSettings) -> Machines:
    clock, telemetry = ports.clock, ports.telemetry
    return Machines(
        clock=clock,
        fleet=Fleet(clock, telemetry, int.from_bytes(ports.entropy.token_bytes(2))),
        identities=identities,
        leases=ports.leases,
        loads=Loads(),
        queues=Queues(ports.room),
        telemetry=telemetry,
        explains=settings.explain_choices,
    )


@dataclass(frozen=True, slots=True)
class _Inner:
    """Parts of the engine that others lean on too."""

    admission: Admission
    budget: Budget
    current: Current
    drain: Drain
    identities: Identities
    keyed: KeyedCalls
    machines: Machines
    outbox: Outbox


def _engine(ports: Ports, settings: EngineSettings, inner: _Inner) -> Switchboard:
    clock, telemetry = ports.clock, ports.telemetry
    books = Bookkeeper(
        outbox=inner.outbox, telemetry=telemetry, clock=clock, identities=inner.identities, status_of=status_of
    )
    means = Means(
        attempts=Attempts(ports.upstream, books, clock, settings),
        clock=clock,
        condition=Condition(clock, telemetry),
        machines=inner.machines,
        telemetry=telemetry,
    )
    return Switchboard(
        Parts(
            admission=inner.admission,
            books=books,
            budget=inner.budget,
            cached=CachedAnswers(CacheMeans(ports.answers, books, inner.budget, clock, ports.entropy, telemetry)),
            clock=clock,
            current=inner.current,
            drain=inner.drain,
            keyed=inner.keyed,
            means=means,
            placer=Placer(int.from_bytes(ports.entropy.token_bytes(2))),
            settings=settings,
            telemetry=telemetry,
        )
    )
