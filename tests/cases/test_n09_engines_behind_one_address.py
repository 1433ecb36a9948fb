"""N09: a node of two engines has as many calls as both together, whoever sent them there."""

from dataclasses import dataclass

from ktms.ports.telemetry import Gauge
from tests.cases.calls import call
from tests.cases.forms import CHAT
from tests.world.catalogues import catalogue, node
from tests.world.vendor import MockVendor, page
from tests.world.world import GatewayUnderTest, World

SLOTS = 8
CALLS = 6


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nodes of eight slots: one has two engines, of the other nothing is told."""

    double: MockVendor
    single: MockVendor
    gateway: GatewayUnderTest


def engines(*running: int) -> bytes:
    lines = [
        f'vllm:num_requests_running{{engine="{number}",model_name="m"}} {count}.0\n'
        f'vllm:num_requests_waiting{{engine="{number}",model_name="m"}} 0.0\n'
        for number, count in enumerate(running)
    ]
    return "".join(lines).encode()


async def pair_of(world: World, *running: int) -> Pair:
    double, single = await world.vendor("double"), await world.vendor("single")
    double.pages["/metrics"] = page(engines(*running))
    for vendor in (double, single):
        vendor.standing(CHAT.healthy())
    nodes = (node("double", double.listening, slots=SLOTS), node("single", single.listening, slots=SLOTS))
    gateway = await world.gateway(catalogue(nodes=nodes))
    await gateway.telemetry.shows(Gauge.NODE_ENGINE_CALLS, sum(running), "double")
    return Pair(double, single, gateway)


async def test_a_node_whose_engines_are_full_together_gets_nothing_while_another_has_room(world: World) -> None:
    pair = await pair_of(world, 3, 5)
    for _ in range(CALLS):
        assert (await call(world, pair.gateway, CHAT)).status == 200
    assert (len(pair.double.requests), len(pair.single.requests)) == (0, CALLS)


async def test_a_node_whose_engines_have_room_gets_its_share(world: World) -> None:
    pair = await pair_of(world, 0, 0)
    for _ in range(CALLS):
        assert (await call(world, pair.gateway, CHAT)).status == 200
    assert (len(pair.double.requests), len(pair.single.requests)) == (CALLS // 2, CALLS // 2)


async def test_a_node_whose_engines_are_full_is_asked_where_there_is_no_other(world: World) -> None:
    pair = await pair_of(world, 3, 5)
    pair.single.stop_listening()
    answers = [await call(world, pair.gateway, CHAT) for _ in range(CALLS)]
    assert answers[-1].attempts == "local/double:ok"
