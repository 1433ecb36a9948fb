"""N02: equal nodes that are all idle take turns; none is always the first."""

from tests.cases.calls import call
from tests.cases.fleets import fleet_of
from tests.cases.forms import CHAT
from tests.world.world import World


async def test_nine_calls_one_after_another_are_shared(world: World) -> None:
    fleet = await fleet_of(world, "first", "second", "third", cloud=False)
    for node in fleet.nodes.values():
        node.standing(CHAT.healthy())

    for _ in range(9):
        assert (await call(world, fleet.gateway, CHAT)).status == 200

    assert all(len(node.requests) >= 2 for node in fleet.nodes.values())
