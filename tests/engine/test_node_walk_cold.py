"""Models that are not in memory: loaded beside the calls, waited for only by those that cannot go elsewhere."""

import asyncio

import pytest

from ktms.adapters.memory.upstream import NOBODY, Pause, Script
from ktms.domain.capacity.node_health import Evidence
from ktms.domain.errors import ErrorCode
from ktms.domain.placement import Placement
from ktms.engine.call import Whole
from ktms.engine.node_walk import COLD_LOAD_S
from ktms.engine.waiting import POLL_S
from tests.engine.ends import cause, story
from tests.engine.machines import TWO, machine, machines, seat_of
from tests.engine.rig import Rig, whole
from tests.engine.virtual_loop import after, settle
from tests.engine.waits import PAIR, held, later, rig_with, timed

COLD: Script = (Pause(20), *whole("H"))


def cold(rig: Rig, *nodes: str) -> None:
    for node in nodes:
        seat_of(rig.machines.fleet, node).cold = True


async def test_a_cold_model_is_loaded_beside_while_the_call_goes_to_the_cloud() -> None:
    rig = await rig_with()
    cold(rig, "mac-1")
    rig.says("mac-1", COLD, whole())
    async with rig.at_work():
        result, took_s = await timed(rig, "mixed")
        assert (story(result), took_s) == ("local/mac-1:cold, alpha:ok", 0)
        await after(21)
        assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:ok"
    assert rig.dialled == ["alpha", "mac-1", "mac-1"]


async def test_calls_for_a_cold_model_begin_one_load() -> None:
    rig = await rig_with()
    cold(rig, "mac-1")
    rig.says("mac-1", COLD)
    async with rig.at_work():
        for _ in range(5):
            await rig.handle(rig.call("mixed"))
            await after(1)
    assert rig.dialled.count("mac-1") == 1


async def test_a_call_for_machines_alone_is_told_when_the_model_may_be_there() -> None:
    rig = await rig_with()
    cold(rig, "mac-1")
    rig.says("mac-1", COLD)
    async with rig.at_work():
        end = cause(await rig.handle(rig.call("mixed", placement=Placement.NODES_ONLY)))
        assert (end.code, end.retry_after_s) == (ErrorCode.NO_NODE_AVAILABLE, COLD_LOAD_S)
        await after(10)
        end = cause(await rig.handle(rig.call("homely")))
        assert end.retry_after_s == pytest.approx(COLD_LOAD_S - 10)


async def test_a_call_for_machines_alone_waits_for_a_load_that_is_soon_done() -> None:
    rig = await rig_with(machines(machine("mac-1"), queue_timeout_ms=30_000))
    rig.says("mac-1", COLD, COLD, whole())
    async with rig.at_work():
        cold(rig, "mac-1")
        await rig.handle(rig.call("mixed"))
        await after(25)
        cold(rig, "mac-1")
        result, took_s = await timed(rig)
    assert isinstance(result, Whole)
    assert took_s == pytest.approx(20, abs=2 * POLL_S)


async def test_a_warm_machine_is_asked_rather_than_a_cold_one() -> None:
    rig = await rig_with(PAIR)
    cold(rig, "mac-1")
    async with rig.at_work():
        for _ in range(3):
            assert story(await rig.handle(rig.call("homely"))) == "local/mac-2:ok"
    assert rig.dialled == ["mac-2"] * 3


async def test_a_warm_machine_that_is_soon_free_is_waited_for_while_a_cold_one_loads() -> None:
    rig = await rig_with(PAIR)
    cold(rig, "mac-1")
    rig.says("mac-1", COLD)
    later(0.5, rig, await held(rig, TWO))
    async with rig.at_work():
        result, took_s = await timed(rig)
        assert story(result) == "local/mac-2:ok"
        assert took_s == pytest.approx(0.5, abs=POLL_S)
        assert rig.dialled == ["mac-1", "mac-2"], "the cold one is loaded beside"


async def test_a_suspect_machine_that_is_warm_is_asked_while_a_cold_one_loads() -> None:
    rig = await rig_with(PAIR)
    cold(rig, "mac-1")
    rig.says("mac-1", COLD)
    rig.machines.fleet.note(TWO, Evidence.CUT)
    async with rig.at_work():
        result, took_s = await timed(rig)
    assert (story(result), took_s) == ("local/mac-2:ok", 0)


async def test_who_waits_for_a_load_does_not_spin_while_a_suspect_machine_is_free() -> None:
    rig = await rig_with(machines(machine("mac-1"), machine("mac-2"), queue_timeout_ms=30_000))
    rig.says("mac-1", COLD, COLD, whole())
    async with rig.at_work() as group:
        cold(rig, "mac-1", "mac-2")
        await rig.handle(rig.call("mixed"))
        await after(25)
        cold(rig, "mac-1", "mac-2")
        taken = await held(rig, TWO)
        call = group.create_task(rig.handle(rig.call("homely")))
        await settle()
        assert rig.machines.queues.waiting == 1
        seat_of(rig.machines.fleet, "mac-2").cold = False
        rig.machines.fleet.note(TWO, Evidence.CUT)
        taken[0].release(taken[1])
        async with asyncio.timeout(1):
            assert story(await call) == "local/mac-2:ok"


async def test_a_load_that_fails_lets_the_call_go_after_its_patience() -> None:
    rig = await rig_with(machines(machine("mac-1"), queue_timeout_ms=90_000))
    cold(rig, "mac-1")
    rig.says("mac-1", NOBODY)
    async with rig.at_work():
        result, took_s = await timed(rig)
    assert cause(result).code == ErrorCode.NO_NODE_AVAILABLE
    assert took_s == pytest.approx(90)
    assert rig.machines.queues.waiting == 0
