"""Many who ask the same at once: one asks, the others wait for it, and nobody longer than it must."""

import asyncio

import pytest

from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.upstream import Silence, Wait
from ktms.engine.answer_cache import KEPT_BYTES_MAX
from ktms.engine.flights import FLIGHT_S
from ktms.engine.settings import EngineSettings
from tests.engine.rig import Rig, rig_of, stream, whole
from tests.engine.test_answer_cache import asked, cached, streamed, told
from tests.engine.virtual_loop import after, settle
from tests.world.events import DONE


@pytest.fixture
async def rig() -> Rig:
    return await rig_of(catalogue=cached())


async def test_an_answer_of_more_than_a_megabyte_is_not_kept_and_holds_nobody_up(rig: Rig) -> None:
    first, others, large = asyncio.Event(), asyncio.Event(), whole("x" * KEPT_BYTES_MAX)
    rig.says("alpha", (Wait(first), *large), (Wait(others), *large))
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(asked(rig)) for _ in range(3)]
        await settle()
        first.set()
        await settle()
        assert len(rig.dialled) == 3, "once it is known to be too large each asks alone"
        others.set()
    assert [told(call.result()) for call in calls] == ["miss"] * 3


async def test_while_the_store_is_away_nobody_waits_for_another(rig: Rig) -> None:
    gate = asyncio.Event()
    rig.says("alpha", (Wait(gate), *whole()))
    rig.answers.away = "away"
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(asked(rig)) for _ in range(3)]
        await settle()
        assert len(rig.dialled) == 3
        gate.set()
    assert [told(call.result()) for call in calls] == ["miss"] * 3


async def test_of_many_that_ask_the_same_one_asks(rig: Rig) -> None:
    gate = asyncio.Event()
    rig.says("alpha", (Wait(gate), *whole()))
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(asked(rig)) for _ in range(20)]
        await settle()
        gate.set()
    assert sorted(told(call.result()) for call in calls) == ["hit"] * 19 + ["miss"]
    assert rig.dialled == ["alpha"]


class KeepsNothing(MemoryAnswerCache):
    def put(self, key: bytes, answer: bytes, ttl_s: float) -> None: ...


async def test_those_who_wait_are_answered_also_where_the_store_lost_it() -> None:
    rig = Rig(EngineSettings(), cached(), answers=KeepsNothing())
    await rig.start()
    gate = asyncio.Event()
    rig.says("alpha", (Wait(gate), *whole()))
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(asked(rig)) for _ in range(3)]
        await settle()
        gate.set()
    assert sorted(told(call.result()) for call in calls) == ["hit", "hit", "miss"]


async def test_where_the_one_that_asks_leaves_the_next_one_asks(rig: Rig) -> None:
    rig.says("alpha", (Silence(),), whole())
    async with asyncio.TaskGroup() as group:
        first = group.create_task(asked(rig))
        await settle()
        second = group.create_task(asked(rig))
        await settle()
        first.cancel()
    assert told(second.result()) == "miss"
    assert len(rig.cached.flights) == 0


async def test_one_that_hangs_holds_the_others_up_for_a_while_only(rig: Rig) -> None:
    rig.says("alpha", (Silence(),), whole())
    async with asyncio.TaskGroup() as group:
        hung = group.create_task(asked(rig))
        await settle()
        others = [group.create_task(asked(rig)) for _ in range(3)]
        await after(FLIGHT_S - 0.001)
        assert not any(other.done() for other in others)
        await after(0.002)
        assert sorted(told(other.result()) for other in others) == ["hit", "hit", "miss"]
        hung.cancel()
    assert rig.dialled == ["alpha", "alpha"]
    assert len(rig.cached.flights) == 0


async def test_a_client_that_waits_for_a_stream_of_another_is_kept_company(rig: Rig) -> None:
    rig.says("alpha", (Silence(),), stream("a"))
    async with asyncio.TaskGroup() as group:
        hung = group.create_task(rig.handle(rig.call(stream=True), MemoryClient()))
        await settle()
        client = await streamed(rig)
        hung.cancel()
    assert client.body.startswith(b": keep-alive")
    assert client.body.endswith(DONE)
