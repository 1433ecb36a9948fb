"""The gateway from its ports: the same assembly in production, in tests and in the simulator.

Takes ports and a snapshot, returns a gateway; reads no clock, no chance, no environment and knows no adapter.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from ktms.api.body import BodyLimits
from ktms.api.health.door import HealthDoor
from ktms.api.listener import Listener, ListenerSettings
from ktms.api.openai.door import OpenAIDoor
from ktms.api.routes import Routes
from ktms.api.status_table import status_of
from ktms.api.wire import Dates
from ktms.domain.snapshot import Snapshot
from ktms.engine.admit import Admission
from ktms.engine.attempt import Attempts
from ktms.engine.condition import Condition
from ktms.engine.current import Current
from ktms.engine.drain import Drain
from ktms.engine.ids import Identities
from ktms.engine.place import Placer
from ktms.engine.readiness import Readiness, judge
from ktms.engine.refresh import Refresher
from ktms.engine.settings import EngineSettings
from ktms.engine.settle import Bookkeeper
from ktms.engine.switchboard import Parts, Switchboard
from ktms.engine.walk import Means
from ktms.ports.catalogue import CatalogueStore
from ktms.ports.change_feed import ChangeFeed
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy
from ktms.ports.key_store import KeyStore
from ktms.ports.lease_store import LeaseStore
from ktms.ports.ledger import Ledger
from ktms.ports.telemetry import Telemetry
from ktms.ports.upstream import Upstream


@dataclass(frozen=True, slots=True)
class Ports:
    """The world, as far as the gateway needs it. `exposition` gives the metrics page."""

    clock: Clock
    entropy: Entropy
    upstream: Upstream
    leases: LeaseStore
    catalogue: CatalogueStore
    keys: KeyStore
    changes: ChangeFeed
    ledger: Ledger
    telemetry: Telemetry
    exposition: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Settings of all parts."""

    engine: EngineSettings = field(default_factory=EngineSettings)
    listener: ListenerSettings = field(default_factory=ListenerSettings)
    body: BodyLimits = field(default_factory=BodyLimits)
    metrics_apart: bool = False  # /metrics on a port of its own: `start_metrics`
    drain_delay_s: float = 5.0  # the listener stays open for the balancer
    shutdown_s: float = 30.0  # then running calls have this long
    flush_s: float = 2.0  # and the books this long; the process is gone within 40 s in all


class Gateway:
    """A gateway that can be run: `start`, `run` beside it, then `drain` and `stop`. `routes` are its doors."""

    def __init__(
        self,
        *,
        ports: Ports,
        settings: GatewaySettings,
        listener: Listener,
        metrics: Listener,
        refresher: Refresher,
        drain: Drain,
        readiness: Callable[[], Readiness],
        routes: Routes,
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._listener = listener
        self._metrics = metrics
        self._refresher = refresher
        self._drain = drain
        self._stopped = False
        self.readiness = readiness
        self.routes = routes

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
        """Keep snapshot and keys fresh until cancelled."""
        await self._refresher.run()

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
                await self._ports.ledger.flush()
        except TimeoutError:
            self._ports.telemetry.event("warning", "ledger_not_flushed")


def assemble(ports: Ports, snapshot: Snapshot | None, settings: GatewaySettings) -> Gateway:
    """Wire a gateway; nothing runs before `start`."""
    clock, telemetry = ports.clock, ports.telemetry
    current, drain = Current(snapshot, clock), Drain()
    admission = Admission(ports.keys, clock, telemetry, settings.engine)
    identities = Identities(clock, ports.entropy)
    engine = _engine(ports, settings.engine, admission, identities, current, drain)
    refresher = Refresher(
        store=ports.catalogue,
        feed=ports.changes,
        admission=admission,
        current=current,
        entropy=ports.entropy,
        telemetry=telemetry,
        settings=settings.engine,
    )

    def readiness() -> Readiness:
        return judge(
            draining=drain.leaving,
            version=current.version,
            postgres_answers=admission.store_answers,
            key_window_open=admission.window_open(),
        )

    dates = Dates(clock)
    openai = OpenAIDoor(engine, identities, clock, dates, settings.body)
    health = HealthDoor(readiness, ports.exposition, dates)
    routes = {**openai.routes(), **health.routes()}
    if not settings.metrics_apart:
        routes |= health.metrics_routes()
    return Gateway(
        ports=ports,
        settings=settings,
        listener=Listener(routes, dates, settings.listener, telemetry),
        metrics=Listener(health.metrics_routes(), dates, settings.listener, telemetry),
        refresher=refresher,
        drain=drain,
        readiness=readiness,
        routes=routes,
    )


def _engine(
    ports: Ports,
    settings: EngineSettings,
    admission: Admission,
    identities: Identities,
    current: Current,
    drain: Drain,
) -> Switchboard:
    clock, telemetry = ports.clock, ports.telemetry
    books = Bookkeeper(
        ledger=ports.ledger, telemetry=telemetry, clock=clock, identities=identities, status_of=status_of
    )
    means = Means(
        attempts=Attempts(ports.upstream, books, clock, settings),
        clock=clock,
        condition=Condition(clock, telemetry),
        identities=identities,
        leases=ports.leases,
        telemetry=telemetry,
    )
    return Switchboard(
        Parts(
            admission=admission,
            books=books,
            clock=clock,
            current=current,
            drain=drain,
            means=means,
            placer=Placer(int.from_bytes(ports.entropy.token_bytes(2))),
            settings=settings,
            telemetry=telemetry,
        )
    )
