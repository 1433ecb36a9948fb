"""The gateway under test: the production assembly on in-memory stores, recording ports and a real upstream leg."""

from collections.abc import Mapping
from functools import partial

from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.assemble import GatewaySettings, Ports, assemble
from ktms.domain.access.actor import Actor, Role
from ktms.domain.catalogue import Catalogue
from ktms.domain.ids import NodeName
from ktms.domain.snapshot import Reach
from tests.world.clock import ShiftedClock
from tests.world.ground import Ground
from tests.world.recorders import RecordingLedger, RecordingTelemetry
from tests.world.world import GatewayUnderTest

HOST = "127.0.0.1"
TEST = Actor("test", Role.OWNER)


async def start_gateway(ground: Ground, catalogue: Catalogue, settings: Mapping[str, object]) -> GatewayUnderTest:
    """Start a gateway; `settings` are members of `GatewaySettings`."""
    store, entropy, ledger, telemetry = MemoryStore(), SystemEntropy(), RecordingLedger(), RecordingTelemetry()
    leases, clock = MemoryLeaseStore(), ShiftedClock(SystemClock())
    rules = AddressRules(loopback_nodes=True)
    await MemoryConfigStore(store, entropy).apply(catalogue, actor=TEST, prune=False, dry_run=False)
    ports = Ports(
        clock=clock,
        entropy=entropy,
        upstream=HttpUpstream(UpstreamSettings(), rules),
        leases=leases,
        room=leases,
        board=leases,
        catalogue=MemoryCatalogueStore(store),
        keys=MemoryKeyStore(store),
        nodes=MemoryNodeRegistry(store, entropy, clock),
        address_refusal=partial(rules.refusal, Reach.NODE),
        changes=MemoryChangeFeed(store),
        ledger=ledger,
        telemetry=telemetry,
        exposition=lambda: b"",
    )
    made = GatewaySettings(**settings)  # type: ignore[arg-type]  # the test names members, the constructor checks them
    gateway = assemble(ports, None, made)
    port = await gateway.start(HOST, 0)
    running = ground.spawn(gateway.run())

    async def stop() -> None:
        running.cancel()
        await gateway.stop()

    return GatewayUnderTest(
        host=HOST,
        port=port,
        ledger=ledger,
        telemetry=telemetry,
        busy=lambda node: leases.busy(NodeName(node)),
        stop=stop,
        drain=gateway.drain,
        store=store,
        clock=clock,
    )
