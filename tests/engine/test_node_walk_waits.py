"""Waiting for machines of ours: in the queue, for a load, and when it is not worth it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.upstream import Pause, Silence
from ktms.domain.capacity.wait_forecast import INTERACTIVE_WAIT_MAX_S
from ktms.domain.catalogue import Catalogue, ChainSpec, ModelSpec, TargetSpec
from ktms.domain.errors import ErrorCode
from ktms.engine.call import Whole
from ktms.engine.settings import EngineSettings
from ktms.engine.waiting import POLL_S
from ktms.ports.lease_store import SlotWish
from tests.engine.ends import cause, story
from tests.engine.machines import ONE, desk_of, machine, machines, seat_of
from tests.engine.rig import NODE_MODEL, whole
from tests.engine.virtual_loop import after, settle
from tests.engine.waits import PAIR, held, later, rig_with, timed


async def test_a_call_whose_forecast_is_within_its_patience_waits_for_a_slot() -> None:
    rig = await rig_with()
    later(0.7, rig, await held(rig))
    async with rig.at_work():
        result, took_s = await timed(rig, "mixed")
    assert story(result) == "local/mac-1:ok"
    assert took_s == pytest.approx(0.7, abs=POLL_S)
    record = rig.telemetry.calls[0]
    assert record.queue_s == pytest.approx(took_s)
    assert record.forecast_s == 1.0
    assert desk_of(rig.machines.fleet, "mixed").calibration.samples == 1


async def test_a_call_whose_forecast_is_beyond_its_patience_goes_on_at_once() -> None:
    rig = await rig_with(holding_s=2.1)
    await held(rig)
    async with rig.at_work():
        result, took_s = await timed(rig, "mixed")
    assert (story(result), took_s) == ("local/mac-1:busy, alpha:ok", 0)


async def test_who_waits_for_another_model_of_the_same_machine_is_in_the_forecast() -> None:
    rig = await rig_with(holding_s=0.9)
    taken = await held(rig)
    async with rig.at_work(), asyncio.TaskGroup() as group:
        calls = [group.create_task(timed(rig, model)) for model in ("homely", "homely")]
        await settle()
        result, took_s = await timed(rig, "mixed")
        taken[0].release(taken[1])
        await asyncio.wait(calls)
    assert (story(result), took_s) == ("local/mac-1:busy, alpha:ok", 0)


async def test_a_slot_goes_to_who_has_waited_longest_whatever_the_model() -> None:
    rig = await rig_with(holding_s=0.9)
    taken = await held(rig)
    ended: list[str] = []

    async def call(model: str) -> None:
        await timed(rig, model)
        ended.append(model)

    async with rig.at_work(), asyncio.TaskGroup() as group:
        for model in ("mixed", "homely"):
            group.create_task(call(model))
            await after(0.1)
        taken[0].release(taken[1])
    assert ended == ["mixed", "homely"]


async def test_without_samples_a_slot_is_not_expected_soon() -> None:
    rig = await rig_with(holding_s=None)
    await held(rig)
    async with rig.at_work():
        assert (await timed(rig, "mixed"))[1] == 0


async def test_a_call_that_waited_in_vain_goes_on() -> None:
    rig = await rig_with()
    await held(rig)
    async with rig.at_work():
        result, took_s = await timed(rig, "mixed")
    assert story(result) == "local/mac-1:busy, alpha:ok"
    assert took_s == pytest.approx(2.0)
    assert desk_of(rig.machines.fleet, "mixed").calibration.samples == 0


async def test_without_a_cloud_the_forecast_is_when_to_come_back() -> None:
    rig = await rig_with(holding_s=40.0)
    await held(rig)
    async with rig.at_work():
        result, took_s = await timed(rig)
    end = cause(result)
    assert (end.code, end.retry_after_s, took_s) == (ErrorCode.NO_NODE_AVAILABLE, 40.0, 0)


async def test_a_queue_of_a_models_own_may_be_longer() -> None:
    rig = await rig_with(machines(machine("mac-1"), queue_timeout_ms=30_000), holding_s=8.0)
    later(9, rig, await held(rig))
    async with rig.at_work():
        result, took_s = await timed(rig)
    assert isinstance(result, Whole)
    assert took_s == pytest.approx(9, abs=POLL_S)


async def test_somebody_who_watches_the_screen_waits_a_quarter_of_a_second_at_most() -> None:
    rig = await rig_with(holding_s=0.2)
    await held(rig)
    async with rig.at_work():
        result, took_s = await timed(rig, "mixed", ktms={"interactive": True})
    assert story(result) == "local/mac-1:busy, alpha:ok"
    assert took_s == pytest.approx(INTERACTIVE_WAIT_MAX_S)


async def test_somebody_who_watches_the_screen_does_not_wait_for_a_longer_forecast() -> None:
    rig = await rig_with(holding_s=0.3)
    await held(rig)
    async with rig.at_work():
        assert (await timed(rig, "mixed", ktms={"interactive": True}))[1] == 0


def chain(*queue_timeouts_ms: int) -> Catalogue:
    """Declare a chain of models, each with a machine of its own that nobody else serves."""
    names = [f"own-{number}" for number in range(1, len(queue_timeouts_ms) + 1)]
    nodes = tuple(machine(f"mac-{at}", models=(name,)) for at, name in enumerate(names, start=1))
    models = tuple(
        ModelSpec(name, (TargetSpec("local", name),), queue_timeout_ms=limit)
        for name, limit in zip(names, queue_timeouts_ms, strict=True)
    )
    base = machines(*nodes)
    return replace(base, models=models, chains=(ChainSpec("auto", {"high": tuple(names)}, "high"),))


@pytest.mark.parametrize(
    ("limits_ms", "interactive", "waited_s"),
    [((2000, 2000), False, 4.0), ((2000, 2000, 2000), False, 4.0), ((2000, 2000), True, INTERACTIVE_WAIT_MAX_S)],
)
async def test_waits_along_a_chain_add_up_to_twice_the_largest_limit_at_most(
    limits_ms: Sequence[int], interactive: bool, waited_s: float
) -> None:
    rig = await rig_with(chain(*limits_ms), holding_s=0.1)
    for state in rig.machines.fleet.nodes:
        await held(rig, state.node.name)
    async with rig.at_work():
        result, took_s = await timed(rig, "auto", ktms={"interactive": interactive})
    assert cause(result).code == ErrorCode.NO_NODE_AVAILABLE
    assert took_s == pytest.approx(waited_s)


async def test_a_deadline_bounds_the_wait() -> None:
    rig = await rig_with(
        machines(machine("mac-1"), queue_timeout_ms=60_000), settings=EngineSettings(call_total_s=5)
    )
    await held(rig)
    async with rig.at_work():
        result, took_s = await timed(rig)
    assert cause(result).code == ErrorCode.NO_NODE_AVAILABLE
    assert took_s == pytest.approx(5)


async def test_who_waits_is_served_in_order_and_the_more_urgent_first() -> None:
    rig = await rig_with(machines(machine("mac-1"), queue_timeout_ms=10_000), holding_s=0.05)
    taken = await held(rig)
    order: list[str] = []

    async def call(name: str, *, interactive: bool = False) -> None:
        result = await rig.handle(rig.call("homely", ktms={"interactive": interactive}))
        assert isinstance(result, Whole), name
        order.append(name)

    async with rig.at_work() as group:
        for name in ("first", "second", "third"):
            group.create_task(call(name))
            await settle()
        group.create_task(call("screen", interactive=True))
        later(0.1, rig, taken)
    assert order == ["screen", "first", "second", "third"]


async def test_who_comes_now_does_not_pass_those_who_wait() -> None:
    rig = await rig_with(machines(machine("mac-1"), queue_timeout_ms=10_000), holding_s=0.05)
    taken = await held(rig)
    rig.says("mac-1", (Pause(0.02), *whole()))
    order: list[int] = []

    async def call(number: int) -> None:
        assert isinstance(await rig.handle(rig.call("homely")), Whole)
        order.append(number)

    async with rig.at_work() as group:
        for number in range(10):
            group.create_task(call(number))
            await after(0.01)
        later(0.0, rig, taken)
        for number in range(10, 20):
            group.create_task(call(number))
            await after(0.01)
    assert order == sorted(order)
    assert rig.machines.queues.waiting == 0


async def test_a_waiter_whom_another_replica_overtook_keeps_waiting() -> None:
    rig = await rig_with()
    taken = await held(rig)
    other = MemoryReplica(rig.fleet_store, "third")

    def stolen() -> None:
        taken[0].release(taken[1])
        rig.fleet_store.take((SlotWish(ONE, 1),), rig.identities.lease())

    async with rig.at_work() as group:
        call = group.create_task(rig.handle(rig.call("mixed")))
        await after(0.31)
        stolen()
        await after(0.2)
        assert not call.done()
        call.cancel()
    assert (await other.read([ONE], [])).busy == {ONE: 1}
    assert rig.machines.queues.waiting == 0


async def test_a_store_that_goes_away_while_a_call_waits_sends_it_on() -> None:
    rig = await rig_with()
    later(0.3, rig, await held(rig))
    async with rig.at_work() as group:
        call = group.create_task(rig.handle(rig.call("mixed")))
        await after(0.1)
        rig.fleet_store.away = "timeout"
        result = await call
    assert story(result) in ("local/mac-1:busy, alpha:ok", "local:unknown, alpha:ok")


async def test_a_client_that_leaves_the_queue_leaves_nothing_there() -> None:
    rig = await rig_with()
    await held(rig)
    async with rig.at_work() as group:
        call = group.create_task(rig.handle(rig.call("homely")))
        await after(0.3)
        assert rig.machines.queues.waiting == 1
        call.cancel()
        await settle()
        assert rig.machines.queues.waiting == 0
        assert rig.fleet_store.read([], [desk_of(rig.machines.fleet).model]).waiting == {"homely": 0}
    assert rig.fleet_store.busy(ONE) == 1, "the other replica's"


async def test_silence_of_a_machine_holds_its_slot_and_no_more() -> None:
    rig = await rig_with(PAIR)
    rig.says("mac-1", (Silence(),))
    async with rig.at_work() as group:
        call = group.create_task(rig.handle(rig.call("homely")))
        await settle()
        assert story(await rig.handle(rig.call("homely"))) == "local/mac-2:ok"
        call.cancel()
    assert NODE_MODEL in seat_of(rig.machines.fleet, "mac-1").vendor_model
