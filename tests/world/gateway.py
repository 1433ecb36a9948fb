"""The gateway under test: the production assembly on in-memory stores, recording ports and a real upstream leg."""

from collections.abc import Mapping

from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.assemble import assemble
from ktms.app.gateway import GatewaySettings
from ktms.app.slots import Slots
from ktms.domain.access.actor import Actor, Role
from ktms.domain.catalogue import Catalogue
from ktms.domain.ids import NodeName
from tests.world.clock import ShiftedClock
from tests.world.ground import Ground
from tests.world.memory_ports import Told, memory_ports
from tests.world.recorders import RecordingSpool, RecordingTelemetry
from tests.world.world import GatewayUnderTest

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
    told = Told(MemoryLedger(), ledger, telemetry, lambda: b"")
    ports = memory_ports(store, clock, slots, told, upstream)
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


def _alone() -> Slots:
    """Give what a gateway counts in its own memory."""
    leases = MemoryLeaseStore()
    return Slots(leases, leases, leases, MemoryQuotaStore(), MemoryAnswerCache(), lambda: False)
