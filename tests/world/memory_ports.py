"""The ports of a gateway that has its stores in memory and a real upstream leg.

Not here: who listens to what it tells (`recorders.py`, the benchmark's book).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.batch_upkeep import MemoryBatchUpkeep
from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.line_store import MemoryLineStore
from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.memory.repeats import MemoryRepeats
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.batch_parts import BatchPorts
from ktms.app.gateway import Ports
from ktms.app.slots import Slots
from ktms.domain.snapshot import Reach
from ktms.ports.clock import Clock
from ktms.ports.ledger import Ledger
from ktms.ports.spool import Spool
from ktms.ports.telemetry import Telemetry
from ktms.ports.usage_reports import UsageReports


class Book(Ledger, UsageReports, Protocol):
    """A ledger that can be asked."""


@dataclass(frozen=True, slots=True)
class Told:
    """Where goes what a gateway tells."""

    book: Book
    spool: Spool
    telemetry: Telemetry
    exposition: Callable[[], bytes]


def memory_ports(
    store: MemoryStore, clock: Clock, slots: Slots, told: Told, upstream: UpstreamSettings | None = None
) -> Ports:
    """Give the ports over one store."""
    entropy, rules = SystemEntropy(), AddressRules(loopback_nodes=True)
    return Ports(
        clock=clock,
        entropy=entropy,
        upstream=HttpUpstream(upstream or UpstreamSettings(), rules),
        leases=slots.leases,
        room=slots.room,
        board=slots.board,
        catalogue=MemoryCatalogueStore(store),
        keys=MemoryKeyStore(store),
        nodes=MemoryNodeRegistry(store, entropy, clock),
        address_refusal=partial(rules.refusal, Reach.NODE),
        changes=MemoryChangeFeed(store),
        ledger=told.book,
        reports=told.book,
        quotas=slots.quotas,
        answers=slots.answers,
        repeats=MemoryRepeats(store),
        spool=told.spool,
        batches=batch_ports(MemoryShelf(clock, store)),
        telemetry=told.telemetry,
        exposition=told.exposition,
    )


def batch_ports(shelf: MemoryShelf) -> BatchPorts:
    """Give the ports over one shelf."""
    files = MemoryFileStore(shelf)
    return BatchPorts(
        files=files,
        index=files,
        batches=MemoryBatchStore(shelf),
        lines=MemoryLineStore(shelf),
        upkeep=MemoryBatchUpkeep(shelf),
    )
