"""The gateway from its ports: the same assembly in production, in tests and in the simulator.

Takes ports and a snapshot, returns a gateway; reads no clock, no chance, no environment and knows no adapter.
Not here: the engine's own wiring (`engine_parts.py`), that of files and batches (`batch_parts.py`).
"""

from collections.abc import Callable

from ktms.api.health.door import HealthDoor
from ktms.api.listener import Listener
from ktms.api.node.door import NodeDoor
from ktms.api.node.downloads import Downloads
from ktms.api.openai.door import OpenAIDoor
from ktms.api.wire import Dates
from ktms.app.batch_parts import BatchParts, BatchSurroundings, batch_parts
from ktms.app.engine_parts import EngineParts, engine_of, engine_parts
from ktms.app.gateway import Gateway, GatewayParts, GatewaySettings, Ports
from ktms.domain.snapshot import Snapshot
from ktms.engine.ids import Identities
from ktms.engine.lasting import Loop
from ktms.engine.look import Looks
from ktms.engine.node_walk import Machines
from ktms.engine.probe import Prober
from ktms.engine.quota_upkeep import QuotaUpkeep
from ktms.engine.readiness import Readiness, judge
from ktms.engine.refresh import Refresher
from ktms.engine.settings import EngineSettings
from ktms.engine.snapshot_keeper import KeeperMeans, SnapshotKeeper
from ktms.engine.sweep import Sweeper
from ktms.engine.switchboard import Switchboard


def assemble(ports: Ports, snapshot: Snapshot | None, settings: GatewaySettings) -> Gateway:
    """Wire a gateway; nothing runs before `start`."""
    parts = engine_parts(ports, snapshot, settings.engine)
    engine = engine_of(ports, settings.engine, parts)
    refresher, keeper = _refresher(ports, parts, settings.engine), _keeper(ports, parts, settings.engine)
    refresher.on_refreshed = keeper.refreshed
    readiness, looks, dates = _readiness(parts), Looks(ports.upstream), Dates(ports.clock)

    openai = OpenAIDoor(engine, parts.identities, ports.clock, dates, settings.body)
    batches = _batches(ports, settings, engine, parts, dates)
    health = HealthDoor(readiness, ports.exposition, dates)
    nodes = _node_door(ports, looks, parts.identities, dates)
    routes = {**openai.routes(), **batches.routes, **health.routes(), **nodes.routes()}
    if ports.agent_files is not None:
        routes |= Downloads(ports.agent_files, dates).routes()
    if not settings.metrics_apart:
        routes |= health.metrics_routes()
    return Gateway(
        GatewayParts(
            ports=ports,
            settings=settings,
            listener=Listener(routes, dates, settings.listener, ports.telemetry),
            metrics=Listener(health.metrics_routes(), dates, settings.listener, ports.telemetry),
            refresher=refresher,
            keeper=keeper,
            works={
                "refresh": refresher.run,
                "save-snapshot": keeper.run,
                "watch-loop": parts.loop.run,
                **_money_works(ports, parts),
                **_fleet_works(ports, parts.machines, looks),
                **batches.works,
            },
            outbox=parts.outbox,
            drain=parts.drain,
            readiness=readiness,
            fleet=parts.machines.fleet.status,
            routes=routes,
        )
    )


def _readiness(parts: EngineParts) -> Callable[[], Readiness]:
    def readiness() -> Readiness:
        return judge(
            draining=parts.drain.leaving,
            version=parts.current.version,
            postgres_answers=parts.admission.store_answers,
            key_window_open=parts.admission.window_open(),
            nodes_known=parts.machines.fleet.known,
            saved=parts.current.saved,
        )

    return readiness


def _batches(
    ports: Ports, settings: GatewaySettings, engine: Switchboard, parts: EngineParts, dates: Dates
) -> BatchParts:
    around = BatchSurroundings(
        engine=engine,
        admission=parts.admission,
        identities=parts.identities,
        drain=parts.drain,
        outbox=parts.outbox,
        board=ports.board,
        clock=ports.clock,
        entropy=ports.entropy,
        telemetry=ports.telemetry,
        dates=dates,
        body=settings.body,
    )
    return batch_parts(ports.batches, around, settings.batches)


def _refresher(ports: Ports, parts: EngineParts, settings: EngineSettings) -> Refresher:
    return Refresher(
        store=ports.catalogue,
        feed=ports.changes,
        admission=parts.admission,
        current=parts.current,
        entropy=ports.entropy,
        telemetry=ports.telemetry,
        settings=settings,
    )


def _keeper(ports: Ports, parts: EngineParts, settings: EngineSettings) -> SnapshotKeeper:
    return SnapshotKeeper(
        KeeperMeans(
            file=ports.snapshot_file,
            admission=parts.admission,
            current=parts.current,
            clock=ports.clock,
            telemetry=ports.telemetry,
            key_window_s=settings.key_window_s,
        )
    )


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


def _money_works(ports: Ports, parts: EngineParts) -> dict[str, Loop]:
    upkeep = QuotaUpkeep(ports.quotas, ports.reports, parts.budget, ports.entropy, ports.telemetry)
    return {"send-usage": parts.outbox.run, "keyed-calls": parts.keyed.run, "quota-upkeep": upkeep.run}


def _fleet_works(ports: Ports, machines: Machines, looks: Looks) -> dict[str, Loop]:
    sweeper = Sweeper(
        board=ports.board,
        fleet=machines.fleet,
        leases=ports.leases,
        queues=machines.queues,
        room=ports.room,
        telemetry=ports.telemetry,
    )
    prober = Prober(machines, ports.board, looks)
    return {"sweep": sweeper.run, "probe": prober.run}
