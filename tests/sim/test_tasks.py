"""Callbacks, timers and tasks on their own."""

import asyncio
from contextvars import Context

from sim.hosts import HOST
from sim.tasks import Step, Timers, waits_at
from tests.sim.network.lab import A, Lab


def _context(host: str) -> Context:
    context = Context()
    context.run(HOST.set, host)
    return context


def test_a_cancelled_step_lets_go_of_what_it_would_have_run() -> None:
    step = Step(print, ("x",), Context())
    step.cancel()
    assert (step.args, step.cancelled()) == ((), True)


def test_a_timer_knows_its_instant() -> None:
    assert Timers().add(5.0, print, (), Context()).when() == 5.0


def test_timers_come_out_by_instant_and_then_as_they_were_made() -> None:
    timers = Timers()
    made = [timers.add(at, print, (), Context()) for at in (2.0, 1.0, 2.0, 1.0)]
    assert [timers.pop() for _ in range(4)] == [made[1], made[3], made[0], made[2]]


def test_the_timers_of_one_process_can_be_taken_out() -> None:
    timers = Timers()
    late = timers.add(9.0, print, (), _context("gw1#1"))
    early = timers.add(1.0, print, (), _context("gw1#1"))
    other = timers.add(5.0, print, (), _context("gw2#1"))
    assert timers.take_of("gw1#1") == [early, late]
    assert timers.pop() is other


def test_where_a_task_waits_is_told_from_the_outside_in() -> None:
    async def inner() -> None:
        await asyncio.sleep(1)

    async def outer() -> None:
        await inner()

    lab = Lab()
    task = lab.loop.start_on(A, outer(), name="outer")
    lab.pass_s(0.5)
    places = waits_at(task)
    lab.loop.close()
    names = [place.partition(" ")[2].rpartition(".")[2] for place in places]
    assert names == ["outer", "inner", "sleep"]
    assert places[0].startswith("tests/sim/test_tasks.py:")
