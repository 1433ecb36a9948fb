"""X07: a busy node is passed over while another is free, whichever replica has made it busy.

Two replicas count the slots of two machines in one Redis; a cloud stands behind them.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import pytest

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.system.entropy import SystemEntropy
from ktms.app.slots import RedisAt, open_slots
from ktms.domain.access.secret import Secret
from ktms.domain.capacity.wait_forecast import HOLDING_UNKNOWN_S
from ktms.domain.catalogue import Catalogue
from ktms.ports.telemetry import Gauge
from tests.cases.calls import ask, call, reply
from tests.cases.forms import CHAT, CHAT_STREAM
from tests.world.catalogues import MODEL, catalogue, node, vendor
from tests.world.client import RawClient
from tests.world.events import DONE, C, F, U
from tests.world.http_message import SeenRequest
from tests.world.script import Step, chunk, end, head, wait
from tests.world.vendor import MockVendor
from tests.world.world import GatewayUnderTest, World

NODES = ("a", "b")
HURRIED_MS = 200
"""Below any forecast for a slot that somebody holds: so nobody waits."""

PATIENT_MS = round(2 * HOLDING_UNKNOWN_S * 1000)
"""Beyond the forecast of a first wait, when no holding time is known."""

REDIS_PATIENCE_S = 2.0
"""Of a machine that others work on as well."""

NODES_ONLY = (("X-KTMS-Placement", "nodes_only"),)


@dataclass(frozen=True, slots=True)
class Stand:
    """Machines that hold whoever asks until the gate `go` is opened, the cloud, and the replicas."""

    machines: tuple[MockVendor, ...]
    cloud: MockVendor
    replicas: tuple[GatewayUnderTest, ...]

    @property
    def asked(self) -> list[int]:
        """How many calls each machine got."""
        return [len(machine.requests) for machine in self.machines]

    def finish(self) -> None:
        """Let the machines end their answers, and all later ones at once."""
        for machine in self.machines:
            machine.open("go")


@dataclass(frozen=True, slots=True)
class Stands:
    """Makes stands on one Redis."""

    world: World
    url: str
    opened: AsyncExitStack

    async def stand(self, queue_timeout_ms: int) -> Stand:
        """Start everything; each machine has one slot."""
        machines = tuple([await self.world.vendor(name) for name in NODES])
        cloud = await self.world.vendor("cloud")
        cloud.standing(CHAT.healthy())
        for machine in machines:
            machine.standing(_slow_streams)
        nodes = tuple(node(one.name, one.listening, slots=1) for one in machines)
        made = catalogue(vendor("cloud", cloud.url), nodes=nodes)
        [model] = made.models
        made = replace(made, models=(replace(model, queue_timeout_ms=queue_timeout_ms),))
        return Stand(machines, cloud, tuple([await self._replica(made) for _ in range(2)]))

    async def _replica(self, made: Catalogue) -> GatewayUnderTest:
        redis = RedisAt(Secret(self.url), REDIS_PATIENCE_S, ours=True)
        slots = await self.opened.enter_async_context(open_slots(redis, SystemEntropy(), MemoryTelemetry()))
        return await self.world.gateway(made, slots=slots)


def _slow_streams(request: SeenRequest) -> Sequence[Step]:
    """Begin a stream and hold it; answer all else at once."""
    if b'"stream":true' not in request.body:
        return CHAT.healthy()
    return (head(), chunk(C("x")), wait("go"), chunk(F("stop")), chunk(U(7, 2)), chunk(DONE), end())


@pytest.fixture
async def stands(world: World, valkey_url: str) -> AsyncIterator[Stands]:
    async with AsyncExitStack() as opened:
        yield Stands(world, valkey_url, opened)
        await world.stop()  # before what the replicas lean on


async def held(world: World, gateway: GatewayUnderTest) -> RawClient:
    """Hold a slot: a stream whose first word has come."""
    client = await ask(world, gateway, CHAT_STREAM)
    assert (await client.head()).status == 200
    assert await client.event() is not None
    return client


async def test_the_free_node_is_chosen_by_whichever_replica(world: World, stands: Stands) -> None:
    stand = await stands.stand(HURRIED_MS)
    await held(world, stand.replicas[0])
    await held(world, stand.replicas[1])
    assert stand.asked == [1, 1]
    assert not stand.cloud.requests


async def test_a_free_node_is_chosen_again_and_again_beside_a_busy_one(world: World, stands: Stands) -> None:
    stand = await stands.stand(PATIENT_MS)
    await held(world, stand.replicas[0])
    busy = stand.asked.index(1)
    for number in range(6):
        got = await call(world, stand.replicas[number % 2], CHAT)
        assert (got.status, got.head.header("x-ktms-node")) == (200, NODES[1 - busy])
    assert stand.asked[busy] == 1


async def test_when_both_are_busy_the_cloud_is_asked_sooner_than_a_long_wait(world: World, stands: Stands) -> None:
    stand = await stands.stand(HURRIED_MS)
    for replica in stand.replicas:
        await held(world, replica)
    for replica in stand.replicas:
        got = await call(world, replica, CHAT)
        assert (got.status, got.head.header("x-ktms-vendor")) == (200, "cloud")
    assert stand.asked == [1, 1]


async def test_nodes_only_refuses_with_the_forecast_when_the_wait_would_be_too_long(
    world: World, stands: Stands
) -> None:
    stand = await stands.stand(HURRIED_MS)
    for replica in stand.replicas:
        await held(world, replica)
    for replica in stand.replicas:
        got = await call(world, replica, CHAT, headers=NODES_ONLY)
        assert (got.status, got.error["code"]) == (503, "no_node_available")
        assert got.retry_after is not None
        assert 2 <= int(got.retry_after) <= HOLDING_UNKNOWN_S
    assert not stand.cloud.requests


async def test_nodes_only_waits_for_a_slot_that_another_replica_frees(world: World, stands: Stands) -> None:
    stand = await stands.stand(PATIENT_MS)
    streams = [await held(world, stand.replicas[0]) for _ in NODES]
    waiting = await ask(world, stand.replicas[1], CHAT, headers=NODES_ONLY)
    for replica in stand.replicas:
        await replica.telemetry.shows(Gauge.QUEUE_WAITING, 1, MODEL)
    stand.finish()
    got = await reply(waiting)
    assert (got.status, got.head.header("x-ktms-vendor")) == (200, "local")
    assert [event.is_done async for event in streams[0].events()][-1]
    assert not stand.cloud.requests
