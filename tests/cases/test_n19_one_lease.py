"""N19: a warm engine takes any number of calls and queues them inside; it gets as many as it has slots."""

import asyncio

import pytest

from ktms.domain.catalogue import EngineKind
from tests.cases.calls import UPSTREAM, call
from tests.cases.fleets import fleet_of
from tests.cases.forms import CHAT
from tests.world.script import wait
from tests.world.world import World


@pytest.mark.parametrize("slots", [1, 2])
async def test_of_six_calls_as_many_reach_it_as_it_has_slots(world: World, slots: int) -> None:
    fleet = await fleet_of(world, slots=slots, engine=EngineKind.OLLAMA)
    fleet.node.standing((wait("done"), *CHAT.healthy()))
    fleet.cloud.standing(CHAT.healthy())

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call(world, fleet.gateway, CHAT)) for _ in range(6)]
        await fleet.cloud.request(5 - slots)
        assert len(fleet.node.requests) == slots
        assert fleet.gateway.busy(UPSTREAM) == slots
        fleet.node.open("done")

    stories = [made.result().attempts for made in calls]
    assert stories.count("local/upstream:ok") == slots
    assert stories.count("local/upstream:busy, cloud:ok") == 6 - slots
    assert fleet.gateway.busy(UPSTREAM) == 0
