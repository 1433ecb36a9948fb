"""The world is wired as production is: the same classes, but for the ports that `sim/fakes` stands in for."""

import asyncio
from collections.abc import Iterator
from types import FunctionType, MethodType

import pytest

from ktms.adapters.redis.link import RedisLink
from ktms.adapters.telemetry.access_line import LogFormat
from ktms.adapters.telemetry.gateway_telemetry import LogSettings
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.app.assemble import assemble
from ktms.app.gateway import Gateway, GatewaySettings, Ports
from ktms.app.production import World as RealWorld
from ktms.app.production import production
from ktms.app.slots import RedisAt
from ktms.domain.access.keyring import Keyring
from ktms.domain.access.secret import Secret
from ktms.domain.snapshot import Snapshot
from ktms.ports.quota_store import QuotaStore
from sim.draft import Draft, Level
from sim.edit import NO_EDIT
from sim.fakes.leases import FleetMeans
from sim.process import ProcessParts, fleet_means, quota_means
from sim.seed import Seed
from sim.world import World

STANDS_IN = {
    "ktms.adapters.postgres.usage_ledger.PostgresUsageLedger": "sim.fakes.ledger.LedgerLine",
    "ktms.adapters.memory.usage_spool.MemoryUsageSpool": "sim.fakes.usage_spool.JournalSpool",
    "ktms.adapters.postgres.catalogue_store.PostgresCatalogueStore": "sim.fakes.postgres.view.SimCatalogueStore",
    "ktms.adapters.postgres.change_feed.PostgresChangeFeed": "sim.fakes.postgres.view.SimChangeFeed",
    "ktms.adapters.postgres.key_store.PostgresKeyStore": "sim.fakes.postgres.view.SimKeyStore",
    "ktms.adapters.postgres.file_store.PostgresFileStore": "sim.fakes.postgres.shelf.SimFileStore",
    "ktms.adapters.postgres.batch_store.PostgresBatchStore": "sim.fakes.postgres.shelf.SimBatchStore",
    "ktms.adapters.postgres.line_store.PostgresLineStore": "sim.fakes.postgres.shelf.SimLineStore",
    "ktms.adapters.postgres.batch_upkeep.PostgresBatchUpkeep": "sim.fakes.postgres.shelf.SimBatchUpkeep",
    "ktms.adapters.postgres.repeats.PostgresRepeats": "sim.fakes.postgres.repeats.SimRepeats",
    "ktms.adapters.redis.answer_cache.RedisAnswerCache": "sim.fakes.answers.JournalAnswers",
    "ktms.adapters.postgres.node_registry.PostgresNodeRegistry": "sim.fakes.postgres.nodes.SimNodeRegistry",
    "ktms.adapters.redis.fleet.RedisFleet": "sim.fakes.leases.JournalLeases",
    "ktms.adapters.redis.fleet_board.RedisFleetBoard": "sim.fakes.leases.JournalLeases",
    "ktms.adapters.redis.quota.RedisQuotaStore": "sim.fakes.quotas.JournalQuotas",
    "ktms.adapters.system.clock.SystemClock": "sim.fakes.clock.HostClock",
    "ktms.adapters.system.entropy.SystemEntropy": "sim.fakes.entropy.SimEntropy",
    "ktms.adapters.telemetry.gateway_telemetry.GatewayTelemetry": "sim.fakes.telemetry.JournalTelemetry",
}
"""In the place of what a world puts what, behind the ports and nowhere else."""


ABSENT = {"ktms.api.node.downloads.Downloads"}
"""What no world has: nobody installs an agent there."""

PORTS = {*STANDS_IN, *STANDS_IN.values()}
"""What is behind them is their own affair."""


def named(thing: object) -> str:
    """Give the full name of a thing's class."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def classes_of(root: object) -> set[str]:
    """Name the classes of ktms and sim that an object reaches: members, closures, containers."""
    seen: set[int] = set()
    names: set[str] = set()
    waiting: list[object] = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        name = named(thing)
        if name.startswith(("ktms.", "sim.")):
            names.add(name)
        if name not in PORTS:
            waiting.extend(_inside(thing))
    return names


def _inside(thing: object) -> Iterator[object]:
    if isinstance(thing, dict):
        yield from thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    elif isinstance(thing, MethodType):
        yield thing.__self__
    elif isinstance(thing, FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or ())
    elif type(thing).__module__.startswith("ktms."):
        for kind in type(thing).__mro__:
            for name in getattr(kind, "__slots__", ()):
                yield getattr(thing, name, None)
        yield from getattr(thing, "__dict__", {}).values()


async def of_production(keyring: Keyring) -> set[str]:
    nowhere = RealWorld(
        database_url=Secret("postgres://nobody@127.0.0.1:1/none"),
        migrate_url=Secret("postgres://nobody@127.0.0.1:1/none"),
        keyring=keyring,
        connections_max=2,
        address_rules=AddressRules(),
        log=LogSettings(log_format=LogFormat.JSON, level="error", fd=2),
        redis=RedisAt(Secret("redis://127.0.0.1:1/0"), 0.1),
    )
    async with production(nowhere) as real:
        return classes_of(assemble(real.ports, None, GatewaySettings()))


def of_a_world(level: Level, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Look at the gateway of a world at the moment at which it was assembled."""
    found: list[set[str]] = []

    def looked_at(ports: Ports, snapshot: Snapshot | None, settings: GatewaySettings) -> Gateway:
        gateway = assemble(ports, snapshot, settings)
        found.append(classes_of(gateway))
        return gateway

    monkeypatch.setattr("sim.gateway_host.assemble", looked_at)
    World(Seed(1), "wiring", Draft(level=level, runs_s=1.0), NO_EDIT, keep_trace=False).run()
    return found[0]


def test_on_the_wire_a_world_differs_from_production_only_behind_the_fakes(
    keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, simulated = asyncio.run(of_production(keyring)), of_a_world(Level.WIRE, monkeypatch)
    assert real - simulated == set(STANDS_IN) | ABSENT
    assert simulated - real == set(STANDS_IN.values())


def test_at_the_ports_only_the_way_to_targets_differs_besides(
    keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, simulated = asyncio.run(of_production(keyring)), of_a_world(Level.PORTS, monkeypatch)
    assert simulated - real - set(STANDS_IN.values()) == {
        "ktms.adapters.memory.upstream.MemoryUpstream",
        "sim.fakes.port_target.PortTargets",
    }


@pytest.mark.parametrize(
    ("level", "means"),
    [
        (
            Level.WIRE,
            {
                "ktms.adapters.redis.fleet.RedisFleet",
                "ktms.adapters.redis.fleet_board.RedisFleetBoard",
                "ktms.adapters.redis.link.RedisLink",
            },
        ),
        (Level.PORTS, {"sim.fakes.fleet_line.FleetLine"}),
    ],
)
def test_what_is_journalled_of_leases_is_done_by_production_on_the_wire(
    level: Level, means: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[set[str]] = []

    def looked_at(parts: ProcessParts, replica: str) -> tuple[FleetMeans, RedisLink | None]:
        found, link = fleet_means(parts, replica)
        made.append({named(one) for one in (found.leases, found.room, found.board, link) if one is not None})
        return found, link

    monkeypatch.setattr("sim.process.fleet_means", looked_at)
    World(Seed(1), "wiring", Draft(level=level, runs_s=1.0), NO_EDIT, keep_trace=False).run()
    assert made == [means]


@pytest.mark.parametrize(
    ("level", "means"),
    [(Level.WIRE, "ktms.adapters.redis.quota.RedisQuotaStore"), (Level.PORTS, "sim.fakes.quota_line.QuotaLine")],
)
def test_limits_are_counted_by_production_on_the_wire(
    level: Level, means: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def looked_at(parts: ProcessParts, replica: str, link: RedisLink | None) -> QuotaStore:
        found = quota_means(parts, replica, link)
        made.append(named(found))
        return found

    monkeypatch.setattr("sim.process.quota_means", looked_at)
    World(Seed(1), "wiring", Draft(level=level, runs_s=1.0), NO_EDIT, keep_trace=False).run()
    assert made == [means]
