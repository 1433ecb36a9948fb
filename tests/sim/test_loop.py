"""The virtual loop: time and order, tasks, errors, and what asyncio builds upon it."""

import asyncio
import gc
from collections.abc import Iterator
from contextvars import ContextVar

import pytest

from sim.hosts import HOST
from sim.loop import STARTS_AT, TASKS_MIN, Deadlock, Standstill, VirtualLoop
from sim.trace import Trace
from tests.sim.virtual_loop import begin, for_ever, make_loop, run


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    made = make_loop()
    yield made
    made.close()


# Time and order.


def test_time_begins_at_the_start_and_moves_by_what_is_waited_for(loop: VirtualLoop) -> None:
    run(loop, asyncio.sleep(3600.5))
    assert loop.time() == STARTS_AT + 3600.5


def test_timers_of_one_instant_fire_in_the_order_they_were_made(loop: VirtualLoop) -> None:
    fired: list[int] = []
    for number in range(50):
        loop.call_at(STARTS_AT + 5, fired.append, number)
    run(loop, asyncio.sleep(6))
    assert fired == list(range(50))


def test_timers_fire_at_their_instant_exactly(loop: VirtualLoop) -> None:
    seen: list[float] = []
    for late_s in (1e-7, 2e-7, 1.0):
        loop.call_later(late_s, lambda: seen.append(loop.time()))
    run(loop, asyncio.sleep(2))
    assert seen == [STARTS_AT + 1e-7, STARTS_AT + 2e-7, STARTS_AT + 1.0]


def test_a_cancelled_timer_does_not_fire(loop: VirtualLoop) -> None:
    fired: list[int] = []
    timer = loop.call_later(1, fired.append, 1)
    timer.cancel()
    run(loop, asyncio.sleep(2))
    assert (fired, timer.cancelled()) == ([], True)


def test_cancelled_timers_by_the_thousand_do_not_pile_up(loop: VirtualLoop) -> None:
    for _ in range(10_000):
        loop.call_later(1e6, _nothing).cancel()
    assert len(loop._timers.heap) < 1000


def test_timers_that_fire_go_to_the_trace_and_cancelled_ones_do_not() -> None:
    trace = Trace()
    loop = make_loop(trace=trace)
    loop.call_later(1, _nothing)
    loop.call_later(2, _nothing).cancel()
    run(loop, asyncio.sleep(3))
    loop.close()
    assert trace.counts["timer"] == 2


def test_a_timer_moved_by_a_microsecond_changes_the_trace() -> None:
    assert _digest_of_timer(1.0) == _digest_of_timer(1.0)
    assert _digest_of_timer(1.0) != _digest_of_timer(1.000001)


def _digest_of_timer(late_s: float) -> str:
    trace = Trace()
    loop = make_loop(trace=trace)
    loop.call_later(late_s, _nothing)
    run(loop, asyncio.sleep(3))
    loop.close()
    return trace.digest()


def _nothing() -> None:
    pass


# What can go no further.


def test_a_deadlock_lists_every_waiting_task_its_host_and_where_it_waits(loop: VirtualLoop) -> None:
    async def inner() -> None:
        await for_ever()

    begin(loop, inner(), "gw1#1", "lost one")
    with pytest.raises(Deadlock) as caught:
        run(loop, for_ever(), on="gw2#1")
    text = str(caught.value)
    assert "gw1#1 lost one: " in text
    assert "test_loop.py" in text
    assert "inner" in text.split("lost one")[1].splitlines()[0]
    assert "gw2#1 test: " in text


def test_tasks_of_killed_hosts_are_no_news_in_a_deadlock(loop: VirtualLoop) -> None:
    begin(loop, for_ever(), "gw1#1", "killed one")
    loop.crash("gw1#1")
    with pytest.raises(Deadlock) as caught:
        run(loop, for_ever(), on="gw2#1")
    assert "killed one" not in str(caught.value)


def test_a_loop_over_yields_at_one_instant_is_told_from_work(loop: VirtualLoop) -> None:
    async def spin() -> None:
        while loop.time() < STARTS_AT + 1:  # noqa: ASYNC110 - the mistake itself
            await asyncio.sleep(0)

    with pytest.raises(Standstill, match="spin"):
        run(loop, spin())


# Tasks.


def test_a_set_of_tasks_iterates_in_the_order_they_were_made(loop: VirtualLoop) -> None:
    tasks = [loop.start_on("a#1", asyncio.sleep(1), name=str(number)) for number in range(40)]
    assert list(set(tasks)) == tasks


def test_a_set_of_tasks_iterates_alike_in_two_loops() -> None:
    def order() -> list[str]:
        loop = make_loop()
        futures = [loop.create_future() for _ in range(37)]
        tasks = {loop.start_on("a#1", asyncio.sleep(1), name=str(number)) for number in range(100)}
        names = [task.get_name() for task in tasks]
        loop.close()
        return [*names, str(len(futures))]

    assert order() == order()


def test_a_set_of_futures_iterates_in_the_order_they_were_made(loop: VirtualLoop) -> None:
    futures = [loop.create_future() for _ in range(40)]
    assert list(set(futures)) == futures


def test_tasks_without_a_name_are_named_alike_in_every_loop() -> None:
    def name() -> str:
        loop = make_loop()
        work = asyncio.sleep(1)
        found = loop.create_task(work).get_name()
        loop.close()
        return found

    assert name() == name()


def test_what_a_task_starts_runs_on_its_host(loop: VirtualLoop) -> None:
    seen: list[str] = []

    async def child() -> None:
        seen.append(HOST.get())

    async def parent() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(child())
        loop.call_later(1, lambda: seen.append(HOST.get()))
        await asyncio.sleep(2)

    run(loop, parent(), on="gw1#3")
    assert seen == ["gw1#3", "gw1#3"]


def test_a_process_inherits_nothing_of_whoever_starts_it(loop: VirtualLoop) -> None:
    mine: ContextVar[str] = ContextVar("mine", default="unset")
    mine.set("of the driver")

    async def look() -> str:
        return mine.get()

    assert run(loop, look()) == "unset"


def test_tasks_of_a_host_are_counted_until_they_end(loop: VirtualLoop) -> None:
    begin(loop, asyncio.sleep(1), "a#1", "short")
    begin(loop, asyncio.sleep(9), "a#1", "long")
    run(loop, asyncio.sleep(5), on="b#1")
    assert (loop.tasks_of("a#1"), loop.tasks_of("b#1"), loop.tasks_of("c#1")) == (1, 0, 0)


def test_ended_tasks_are_forgotten_in_the_long_run(loop: VirtualLoop) -> None:
    async def many() -> None:
        for _ in range(20 * TASKS_MIN):
            await loop.create_task(asyncio.sleep(0))

    run(loop, many())
    assert len(loop._tasks["a#1"]) <= 2 * TASKS_MIN


# Errors.


def test_an_error_that_nobody_takes_is_kept_with_its_host_and_instant(loop: VirtualLoop) -> None:
    async def work() -> None:
        loop.call_later(1, lambda: 1 / 0)
        await asyncio.sleep(2)

    run(loop, work(), on="gw1#1")
    (kept,) = loop.unhandled
    assert (kept.at, kept.host, type(kept.error)) == (STARTS_AT + 1, "gw1#1", ZeroDivisionError)
    loop.unhandled.clear()


def test_an_exception_of_a_task_that_nobody_asks_for_is_kept(loop: VirtualLoop) -> None:
    async def fail() -> None:
        raise KeyError("lost")

    async def work() -> None:
        failing = loop.create_task(fail())
        await asyncio.sleep(1)
        del failing

    run(loop, work())
    loop._tasks.clear()
    gc.collect()
    assert [type(kept.error) for kept in loop.unhandled] == [KeyError]


# What asyncio builds upon a loop.


def test_timeouts_groups_queues_locks_and_gather_work(loop: VirtualLoop) -> None:
    async def work() -> list[object]:
        seen: list[object] = []
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        lock = asyncio.Lock()

        async def produce() -> None:
            for number in range(3):
                async with lock:
                    await queue.put(number)

        async def consume() -> None:
            for _ in range(3):
                seen.append(await queue.get())
                await asyncio.sleep(1)

        try:
            async with asyncio.timeout(0.25):
                await for_ever()
        except TimeoutError:
            seen.append(loop.time() - STARTS_AT)
        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            group.create_task(consume())
        seen.extend(await asyncio.gather(asyncio.sleep(1, "x"), asyncio.sleep(2, "y")))
        return seen

    assert run(loop, work()) == [0.25, 0, 1, 2, "x", "y"]


def test_a_failing_group_cancels_its_tasks_in_their_order(loop: VirtualLoop) -> None:
    ended: list[int] = []

    async def child(number: int) -> None:
        try:
            await for_ever()
        finally:
            ended.append(number)

    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(child(number))
            await asyncio.sleep(1)
            raise KeyError

    with pytest.raises(ExceptionGroup):
        run(loop, work())
    assert ended == list(range(20))


def test_stop_ends_after_the_round(loop: VirtualLoop) -> None:
    seen: list[int] = []
    loop.call_soon(seen.append, 1)
    loop.call_soon(loop.stop)
    loop.call_soon(seen.append, 2)
    loop.run_forever()
    assert seen == [1, 2]
