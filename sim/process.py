"""The ports of one gateway process in a world: what `production.py` chooses, with fakes of `sim/fakes` instead.

On the wire the upstream leg is production's own, over the simulated network. Not here: the process itself
(`gateway_host.py`).
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.snapshot_file import MemorySnapshotFile
from ktms.adapters.redis.answer_cache import RedisAnswerCache
from ktms.adapters.redis.fleet import RedisFleet
from ktms.adapters.redis.fleet_board import RedisFleetBoard
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.quota import RedisQuotaStore
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.batch_parts import BatchPorts
from ktms.app.gateway import Ports
from ktms.ports.answer_cache import AnswerCache
from ktms.ports.quota_store import QuotaStore
from ktms.ports.upstream import Upstream
from sim.fakes.answers import AnswersLine, JournalAnswers
from sim.fakes.clock import HostClock
from sim.fakes.entropy import SimEntropy
from sim.fakes.fleet_line import FleetLine
from sim.fakes.leases import FleetMeans, JournalLeases
from sim.fakes.ledger import LedgerLine, SimLedger
from sim.fakes.port_target import PortTargets
from sim.fakes.postgres.server import SimPostgres
from sim.fakes.postgres.view import PostgresView
from sim.fakes.quota_line import QuotaLine
from sim.fakes.quotas import JournalQuotas
from sim.fakes.shared_store import SharedStore
from sim.fakes.snapshot_file import JournalSnapshotFile
from sim.fakes.telemetry import JournalTelemetry
from sim.fakes.usage_spool import JournalSpool, SpoolFolder
from sim.gateway_host import Made
from sim.journal.journal import Journal
from sim.seed import Seed
from sim.trace import Trace


@dataclass(frozen=True, slots=True)
class ProcessParts:
    """What every process of one host is made from. `targets_of` is None where requests go over the network.

    `store` is what all replicas share where there are no bytes, `redis_url` where it is where there are.
    `spool_folder` and `snapshot_disk` are the disk of this host, where it has one.
    """

    seed: Seed
    journal: Journal
    trace: Trace
    postgres: SimPostgres
    targets_of: Callable[[str], PortTargets] | None
    store: SharedStore | None
    redis_url: str | None
    ledger: SimLedger
    spool_folder: SpoolFolder | None
    snapshot_disk: MemorySnapshotFile | None
    usage_events_max: int
    starts: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))


def make_ports(parts: ProcessParts, host: str, clock: HostClock) -> Made:
    """Make the ports of a new process."""
    journal, trace = parts.journal, parts.trace
    number = next(parts.starts)
    entropy = SimEntropy(parts.seed.chance(f"entropy/{number}"))
    telemetry = JournalTelemetry(host, journal)
    replica = f"{host}#{number}"
    means, link = fleet_means(parts, replica)
    wide = None if parts.redis_url is None else RedisLink(parts.redis_url)
    leases = JournalLeases(host, journal, trace, means)
    view = PostgresView(parts.postgres, host, journal, entropy, clock)
    upstream, count_open, count_idle = _upstream(parts, host)
    ledger = LedgerLine(host, parts.ledger, journal)
    ports = Ports(
        clock=clock,
        entropy=entropy,
        upstream=upstream,
        leases=leases,
        room=leases,
        board=leases,
        catalogue=view.catalogue,
        keys=view.keys,
        nodes=view.nodes,
        address_refusal=lambda _: None,
        changes=view.changes,
        ledger=ledger,
        quotas=JournalQuotas(host, journal, trace, quota_means(parts, replica, link)),
        answers=JournalAnswers(host, journal, _answers(parts, wide, link)),
        repeats=view.repeats,
        spool=JournalSpool(host, journal, parts.spool_folder, parts.usage_events_max),
        batches=BatchPorts(view.files, view.files, view.batches, view.lines, view.upkeep),
        reports=ledger,
        telemetry=telemetry,
        exposition=lambda: b"",
        snapshot_file=None
        if parts.snapshot_disk is None
        else JournalSnapshotFile(host, journal, parts.snapshot_disk),
    )
    return Made(
        ports=ports,
        upstream_open=count_open,
        upstream_idle=count_idle,
        leases=leases.held,
        link=link,
        wide=wide,
        inflight=lambda: telemetry.in_flight,
    )


def fleet_means(parts: ProcessParts, replica: str) -> tuple[FleetMeans, RedisLink | None]:
    """Make one process's way to what the replicas share, and the connection that it needs, where it needs one.

    Over the wire it is production's own; a world without Redis has a store per process, as an installation has.
    """
    if parts.redis_url is not None:
        link = RedisLink(parts.redis_url)
        fleet = RedisFleet(link)
        return FleetMeans(fleet, fleet, RedisFleetBoard(link, replica)), link
    if parts.store is not None:
        return FleetMeans.of(FleetLine(parts.store, replica)), None
    return FleetMeans.of(MemoryLeaseStore()), None


def quota_means(parts: ProcessParts, replica: str, link: RedisLink | None) -> QuotaStore:
    """Make one process's way to what is counted of keys and tenants."""
    if link is not None:
        return RedisQuotaStore(link, replica)
    return MemoryQuotaStore(name=replica) if parts.store is None else QuotaLine(parts.store, replica)


def _answers(parts: ProcessParts, wide: RedisLink | None, link: RedisLink | None) -> AnswerCache:
    if wide is not None and link is not None:
        return RedisAnswerCache(wide, link)
    return MemoryAnswerCache() if parts.store is None else AnswersLine(parts.store)


def _upstream(parts: ProcessParts, host: str) -> tuple[Upstream, Callable[[], int], Callable[[], int]]:
    if parts.targets_of is not None:
        memory = parts.targets_of(host).upstream
        return memory, lambda: memory.open_total, lambda: 0
    wire = HttpUpstream(UpstreamSettings(), AddressRules())
    return wire, lambda: wire.open_connections, lambda: wire.idle_connections
