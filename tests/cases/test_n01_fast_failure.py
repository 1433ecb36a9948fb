"""N01: a node that fails fast is idle most of the time and yet attracts no calls."""

import asyncio

import pytest

from tests.cases.calls import call
from tests.cases.fleets import fleet_of
from tests.cases.forms import CHAT
from tests.world.script import Step, fin, pause_s, status
from tests.world.vendor import TOKEN_PAGE
from tests.world.world import World

CALLS = 100
AT_ONCE = 10
FAST: dict[str, tuple[Step, ...]] = {
    "503": (pause_s(0.05), *status(503)),
    "500": status(500),
    "404": status(404),
    "cut": (fin(),),
}


@pytest.mark.parametrize("failure", FAST.values(), ids=FAST)
async def test_of_a_hundred_calls_nearly_all_land_on_the_sound_node(
    world: World, failure: tuple[Step, ...]
) -> None:
    fleet = await fleet_of(world, "bad", "good", cloud=False, slots=AT_ONCE)
    bad, good = fleet.nodes["bad"], fleet.nodes["good"]
    bad.standing(failure)
    bad.pages[TOKEN_PAGE] = failure
    good.standing((pause_s(0.02), *CHAT.healthy()))
    statuses: list[int] = []

    for _ in range(CALLS // AT_ONCE):
        async with asyncio.TaskGroup() as group:
            made = [group.create_task(call(world, fleet.gateway, CHAT)) for _ in range(AT_ONCE)]
        statuses += [one.result().status for one in made]

    assert statuses == [200] * CALLS
    assert len(good.requests) == CALLS
    assert len(bad.requests) <= AT_ONCE, "those of the first moment, before it was known"


async def test_one_after_another_it_gets_one_call(world: World) -> None:
    fleet = await fleet_of(world, "bad", "good", cloud=False)
    fleet.nodes["bad"].standing(status(503))
    fleet.nodes["bad"].pages[TOKEN_PAGE] = status(503)
    fleet.nodes["good"].standing(CHAT.healthy())

    for _ in range(CALLS):
        assert (await call(world, fleet.gateway, CHAT)).status == 200

    assert len(fleet.nodes["bad"].requests) <= 1
