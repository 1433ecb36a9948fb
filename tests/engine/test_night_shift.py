"""Machines of ours do lines of batches while nobody else wants them."""

import asyncio
from dataclasses import replace

from ktms.adapters.memory.upstream import Pause
from ktms.domain.catalogue import ModelSpec, TargetSpec
from ktms.engine.call import Whole
from ktms.engine.waiting import Urgency, Waiter
from tests.engine.batch_yard import Yard, text_of, yard
from tests.engine.machines import desk_of, machine, machines
from tests.engine.rig import NODE_MODEL, Rig, whole
from tests.engine.virtual_loop import after

SLOTS = 2
LONE = machines(machine("mac-1", slots=SLOTS), queue_timeout_ms=60_000)
TWO_MODELS = replace(
    LONE,
    models=(*LONE.models, ModelSpec("other", (TargetSpec("local", NODE_MODEL),), queue_timeout_ms=60_000)),
)
LINE_S = 10.0
SLOWLY = (Pause(LINE_S), *whole())


async def waits_of(rig: Rig, count: int, model: str = "homely", **members: object) -> list[float]:
    """Make so many calls at once; give how long each waited for its slot."""

    async def one() -> float:
        began_at = rig.clock.monotonic()
        assert isinstance(await rig.handle(rig.call(model, **members)), Whole)  # type: ignore[arg-type]  # members of the body
        return rig.clock.monotonic() - began_at - LINE_S

    return await asyncio.gather(*(one() for _ in range(count)))


async def at_night(made: Yard, lines: int = 12, model: str = "homely") -> None:
    """Let lines fill the machine, and more of them wait."""
    made.rig.says("mac-1", SLOWLY)
    await made.batch(*(text_of(str(number), model) for number in range(lines)))
    await after(7)
    assert made.rig.busy == SLOTS
    assert made.rig.machines.queues.waiting == made.replica.worker.running - SLOTS > 0


async def test_idle_machines_do_the_lines() -> None:
    async with yard(LONE, lines_max=6) as made:
        await at_night(made)


async def test_calls_of_people_get_the_next_slots_before_any_line() -> None:
    async with yard(LONE, lines_max=6) as made:
        await at_night(made)
        done = len(made.booked())
        waited = await waits_of(made.rig, 4)
        assert max(waited) <= 2 * LINE_S + 0.5  # the lines under way, then two of us
        assert len(made.booked()) - done == SLOTS  # no line began meanwhile


async def test_calls_for_another_model_of_the_same_machine_go_first_too() -> None:
    async with yard(TWO_MODELS, lines_max=6) as made:
        await at_night(made)
        done = len(made.booked())
        await waits_of(made.rig, 4, "other")
        assert len(made.booked()) - done == SLOTS


async def test_calls_that_wait_on_another_replica_go_first_too() -> None:
    async with yard(LONE, lines_max=6, replicas=2) as made:
        day = made.replicas[1].rig
        for task in made.replicas[1].tasks[:2]:
            task.cancel()  # it runs no lines itself
        await at_night(made)
        done = len(made.booked())
        waited = await waits_of(day, 4)
        assert max(waited) <= 2 * LINE_S + 2.0  # a view of another replica's queue may be a second old
        assert len(made.booked()) - done <= SLOTS + 1


async def test_lines_go_on_when_nobody_else_waits_any_more() -> None:
    async with yard(LONE, lines_max=6) as made:
        await at_night(made, lines=8)
        await waits_of(made.rig, 3)
        await after(60)
        assert len(made.booked()) == 8


async def test_lines_are_not_counted_among_those_who_wait() -> None:
    async with yard(LONE, lines_max=6) as made:
        await at_night(made)
        desk = desk_of(made.rig.machines.fleet)
        assert desk.here == 0
        assert made.rig.fleet_store.read([], [desk.model]).waiting == {desk.model: 0}
        assert desk.status(made.rig.clock.monotonic()).waiting == 0
        assert made.rig.machines.queues.ahead(desk, Urgency.NORMAL) == 0
        assert made.rig.machines.queues.ahead(desk, Urgency.BATCH) == 4


async def test_a_line_yields_to_whoever_waits_near_by_and_to_nobody_else() -> None:
    async with yard(TWO_MODELS) as made:
        queues = made.rig.machines.queues
        desk, other = (desk_of(made.rig.machines.fleet, name) for name in ("homely", "other"))
        assert not queues.others_near(desk)
        with queues.joined(other, Waiter(Urgency.BATCH, lambda: False), "a"):
            assert not queues.others_near(desk)
        for urgency in (Urgency.NORMAL, Urgency.INTERACTIVE):
            with queues.joined(other, Waiter(urgency, lambda: False), "a"):
                assert queues.others_near(desk)
        other.elsewhere = 1
        assert queues.others_near(desk)
