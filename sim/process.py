"""The ports of one gateway process in a world: what `production.py` chooses, with fakes of `sim/fakes` instead.

On the wire the upstream leg is production's own, over the simulated network. Not here: the process itself
(`gateway_host.py`).
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.assemble import Ports
from ktms.ports.upstream import Upstream
from sim.fakes.clock import HostClock
from sim.fakes.entropy import SimEntropy
from sim.fakes.leases import JournalLeases
from sim.fakes.ledger import JournalLedger
from sim.fakes.port_target import PortTargets
from sim.fakes.postgres.server import SimPostgres
from sim.fakes.postgres.view import PostgresView
from sim.fakes.telemetry import JournalTelemetry
from sim.gateway_host import Made
from sim.journal.journal import Journal
from sim.seed import Seed
from sim.trace import Trace


@dataclass(frozen=True, slots=True)
class ProcessParts:
    """What every process of one host is made from. `targets_of` is None where requests go over the network."""

    seed: Seed
    journal: Journal
    trace: Trace
    postgres: SimPostgres
    targets_of: Callable[[str], PortTargets] | None
    starts: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))


def make_ports(parts: ProcessParts, host: str, clock: HostClock) -> Made:
    """Make the ports of a new process."""
    journal, trace = parts.journal, parts.trace
    entropy = SimEntropy(parts.seed.chance(f"entropy/{next(parts.starts)}"))
    telemetry = JournalTelemetry(host, journal)
    leases = JournalLeases(host, journal, trace)
    view = PostgresView(parts.postgres, host, journal)
    upstream, count_open, count_idle = _upstream(parts, host)
    ports = Ports(
        clock=clock,
        entropy=entropy,
        upstream=upstream,
        leases=leases,
        catalogue=view.catalogue,
        keys=view.keys,
        changes=view.changes,
        ledger=JournalLedger(host, journal),
        telemetry=telemetry,
        exposition=lambda: b"",
    )
    return Made(
        ports=ports,
        upstream_open=count_open,
        upstream_idle=count_idle,
        leases=leases.held,
        inflight=lambda: telemetry.in_flight,
    )


def _upstream(parts: ProcessParts, host: str) -> tuple[Upstream, Callable[[], int], Callable[[], int]]:
    if parts.targets_of is not None:
        memory = parts.targets_of(host).upstream
        return memory, lambda: memory.open_total, lambda: 0
    wire = HttpUpstream(UpstreamSettings(), AddressRules())
    return wire, lambda: wire.open_connections, lambda: wire.idle_connections
