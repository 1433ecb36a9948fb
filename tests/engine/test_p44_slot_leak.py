"""P44: places of a key come back whatever becomes of its calls: left at any moment, or lost with their replica."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.upstream import Head, Pause, Script
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import ClientKeySpec
from ktms.domain.errors import ErrorCode
from ktms.domain.ids import RequestId
from ktms.engine.budget import accounts_of
from ktms.engine.call import Failed, Result, Streamed
from ktms.ports.quota_store import BEAT_EVERY_S, RESERVATION_TTL_S, Reserved, Wish
from tests.engine.rig import CATALOGUE, EVENTS, KEY, Rig, client_key, key_id, rig_of, stream
from tests.engine.virtual_loop import after
from tests.world.events import DONE, C, F, U

PLACES = 2
CALLS = 20

SLOW: Script = (Pause(0.5), Head(200, EVENTS), Pause(0.5), C("a"), Pause(0.5), C("b"), F("stop"), U(7, 2), DONE)
"""A target that takes its time before its head, before its first word and before its end."""

WHOLE_S = 1.6


@pytest.fixture
async def narrow() -> AsyncIterator[Rig]:
    """A key with two places, on one node and a cloud that are slow."""
    spec = ClientKeySpec("app", "default", limits=Limits(concurrent=PLACES), secret=Secret(KEY))
    rig = await rig_of(catalogue=replace(CATALOGUE, client_keys=(spec,)))
    for target in ("mac-1", "mac-2", "alpha", "beta"):
        rig.says(target, SLOW)
    yield rig
    assert running(rig) == 0


def running(rig: Rig) -> int:
    return rig.quotas.quotas.counters(f"key:{key_id()}").running


def is_refused(result: Result) -> bool:
    return isinstance(result, Failed) and result.problem.code == ErrorCode.RATE_LIMIT_EXCEEDED


@pytest.mark.parametrize("seed", range(10))
async def test_twenty_calls_left_at_any_moment_leave_their_places(narrow: Rig, seed: int) -> None:
    entropy = SeededEntropy(f"p44/{seed}")
    for _ in range(CALLS // PLACES):
        async with asyncio.TaskGroup() as group:
            calls = [narrow.handle(narrow.call("mixed", stream=True)) for _ in range(PLACES)]
            for task in [group.create_task(call) for call in calls]:
                await after(entropy.uniform(0.0, WHOLE_S / PLACES))
                task.cancel()
        assert running(narrow) == 0


async def test_after_leavers_as_many_calls_pass_as_there_are_places(narrow: Rig) -> None:
    await test_twenty_calls_left_at_any_moment_leave_their_places(narrow, 0)
    results = await asyncio.gather(*(narrow.handle(narrow.call("mixed", stream=True)) for _ in range(PLACES + 1)))
    assert [result == Streamed() for result in results] == [True] * PLACES + [False]
    assert is_refused(results[-1])


async def test_places_of_a_killed_replica_come_back_though_others_beat(narrow: Rig) -> None:
    narrow.says("alpha", stream("a"))
    key = client_key(limits=Limits(concurrent=PLACES))
    accounts = (replace(accounts_of(key)[0], id=f"key:{key_id()}"),)
    dead = MemoryQuotaStore(narrow.quotas.quotas, "gw2")
    for number in range(PLACES):
        assert isinstance(await dead.reserve(Wish(RequestId(f"dead-{number}"), accounts, 0, 0)), Reserved)
    assert is_refused(await narrow.handle(narrow.call(stream=True)))
    for _ in range(int(RESERVATION_TTL_S / BEAT_EVERY_S)):
        await after(BEAT_EVERY_S)
        await narrow.quotas.beat()
    assert await narrow.handle(narrow.call(stream=True)) == Streamed()


async def test_a_place_that_is_given_back_twice_is_one_place(narrow: Rig) -> None:
    accounts = (replace(accounts_of(client_key(limits=Limits(concurrent=PLACES)))[0], id=f"key:{key_id()}"),)
    wishes = [Wish(RequestId(f"call-{number}"), accounts, 0, 0) for number in range(PLACES)]
    for wish in wishes:
        await narrow.quotas.reserve(wish)
    for _ in range(PLACES):
        narrow.quotas.settle(wishes[0], 0, 0)
    assert running(narrow) == 1
    narrow.quotas.settle(wishes[1], 0, 0)
