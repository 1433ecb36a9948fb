"""The gateway under test: the production assembly on in-memory stores, recording ports and a real upstream leg."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.batch_upkeep import MemoryBatchUpkeep
from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.line_store import MemoryLineStore
from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.repeats import MemoryRepeats
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.assemble import assemble
from ktms.app.batch_parts import BatchPorts
from ktms.app.gateway import GatewaySettings, Ports
from ktms.app.slots import Slots
from ktms.domain.access.actor import Actor, Role
from ktms.domain.catalogue import Catalogue
from ktms.domain.ids import NodeName
from ktms.domain.snapshot import Reach
from tests.world.clock import ShiftedClock
from tests.world.ground import Ground
from tests.world.recorders import RecordingSpool, RecordingTelemetry
from tests.world.world import GatewayUnderTest


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


HOST = "127.0.0.1"
TEST = Actor("test", Role.OWNER)


async def start_gateway(ground: Ground, catalogue: Catalogue, settings: Mapping[str, object]) -> GatewayUnderTest:
    """Start a gateway; `settings` are members of `GatewaySettings`.

    And `upstream`, bounds of its connections to vendors; `slots`, what it shares with other replicas.
    """
    own = dict(settings)
    upstream, slots = own.pop("upstream", UpstreamSettings()), own.pop("slots", None) or _alone()
    assert isinstance(upstream, UpstreamSettings)
    assert isinstance(slots, Slots)
    leases = slots.leases
    store, ledger, telemetry = MemoryStore(), RecordingSpool(), RecordingTelemetry()
    clock = ShiftedClock(SystemClock())
    await MemoryConfigStore(store, SystemEntropy()).apply(catalogue, actor=TEST, prune=False, dry_run=False)
    ports = _ports(_Recorded(store, clock, ledger, telemetry), slots, upstream)
    made = GatewaySettings(**own)  # type: ignore[arg-type]  # the test names members, the constructor checks them
    gateway = assemble(ports, None, made)
    port = await gateway.start(HOST, 0)
    running = ground.spawn(gateway.run())

    def busy(node: str) -> int:
        assert isinstance(leases, MemoryLeaseStore), "slots are counted elsewhere"
        return leases.busy(NodeName(node))

    async def stop() -> None:
        running.cancel()
        await gateway.stop()

    return GatewayUnderTest(
        host=HOST,
        port=port,
        ledger=ledger,
        telemetry=telemetry,
        busy=busy,
        stop=stop,
        drain=gateway.drain,
        store=store,
        clock=clock,
    )


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What a test reads of a gateway later."""

    store: MemoryStore
    clock: ShiftedClock
    spool: RecordingSpool
    telemetry: RecordingTelemetry


def _ports(recorded: _Recorded, slots: Slots, upstream: UpstreamSettings) -> Ports:
    """Give the world of a gateway, in memory but for the network."""
    store, clock, entropy = recorded.store, recorded.clock, SystemEntropy()
    rules, book = AddressRules(loopback_nodes=True), MemoryLedger()
    return Ports(
        clock=clock,
        entropy=entropy,
        upstream=HttpUpstream(upstream, rules),
        leases=slots.leases,
        room=slots.room,
        board=slots.board,
        catalogue=MemoryCatalogueStore(store),
        keys=MemoryKeyStore(store),
        nodes=MemoryNodeRegistry(store, entropy, clock),
        address_refusal=partial(rules.refusal, Reach.NODE),
        changes=MemoryChangeFeed(store),
        ledger=book,
        reports=book,
        quotas=slots.quotas,
        answers=slots.answers,
        repeats=MemoryRepeats(store),
        spool=recorded.spool,
        batches=batch_ports(MemoryShelf(clock, store)),
        telemetry=recorded.telemetry,
        exposition=lambda: b"",
    )


def _alone() -> Slots:
    """Give what a gateway counts in its own memory."""
    leases = MemoryLeaseStore()
    return Slots(leases, leases, leases, MemoryQuotaStore(), MemoryAnswerCache(), lambda: False)
