"""Processes on the virtual loop: killed, standing still, and gone with the world."""

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Iterator

import pytest

from sim.loop import STARTS_AT, Deadlock, VirtualLoop
from tests.sim.virtual_loop import begin, for_ever, make_loop, run


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    made = make_loop()
    yield made
    made.close()


# Crash.


def test_a_crash_runs_no_finally_and_its_tasks_stay_referenced(loop: VirtualLoop) -> None:
    log: list[str] = []

    async def work() -> None:
        try:
            log.append("begun")
            await asyncio.sleep(100)
            log.append("done")
        finally:
            log.append("finally")

    begin(loop, work(), "gw1#1")
    run(loop, asyncio.sleep(1), on="b#1")
    loop.crash("gw1#1")
    gc.collect()
    run(loop, asyncio.sleep(500), on="b#1")
    assert (log, loop.tasks_of("gw1#1")) == (["begun"], 1)


def test_a_crash_drops_what_was_about_to_run(loop: VirtualLoop) -> None:
    log: list[str] = []

    async def work() -> None:
        loop.call_soon(log.append, "soon")
        loop.call_later(0, log.append, "later")
        loop.crash("gw1#1")
        await asyncio.sleep(0)
        log.append("on")

    begin(loop, work(), "gw1#1")
    run(loop, asyncio.sleep(5), on="b#1")
    assert log == []


def test_a_killed_process_hears_of_no_future_that_others_fulfil(loop: VirtualLoop) -> None:
    log: list[str] = []
    answer = loop.create_future()

    async def wait() -> None:
        await answer
        log.append("heard")

    begin(loop, wait(), "gw1#1", "wait")
    run(loop, asyncio.sleep(1), on="b#1")
    loop.crash("gw1#1")
    answer.set_result(None)
    run(loop, asyncio.sleep(1), on="b#1")
    assert log == []


def test_a_second_crash_of_the_same_process_changes_nothing(loop: VirtualLoop) -> None:
    begin(loop, for_ever(), "gw1#1")
    loop.crash("gw1#1")
    loop.crash("gw1#1")
    assert loop.tasks_of("gw1#1") == 1


def test_the_next_incarnation_lives_on(loop: VirtualLoop) -> None:
    loop.crash("gw1#1")
    run(loop, asyncio.sleep(1), on="gw1#2")
    assert loop.time() == STARTS_AT + 1


def test_nothing_can_be_started_on_a_killed_process(loop: VirtualLoop) -> None:
    loop.crash("gw1#1")
    with pytest.raises(ValueError, match="gw1#1 was killed"):
        begin(loop, asyncio.sleep(1), "gw1#1")


def test_timers_of_a_killed_process_do_not_keep_the_world_going(loop: VirtualLoop) -> None:
    begin(loop, asyncio.sleep(1e6), "gw1#1")
    run(loop, asyncio.sleep(1), on="b#1")
    loop.crash("gw1#1")
    with pytest.raises(Deadlock):
        run(loop, for_ever(), on="b#1")
    assert loop.time() == STARTS_AT + 1


# Standing still.


def test_a_frozen_process_runs_what_came_meanwhile_afterwards_and_in_order(loop: VirtualLoop) -> None:
    log: list[tuple[str, float]] = []

    async def work() -> None:
        for late_s in (3, 1, 2):
            loop.call_later(late_s, lambda late_s=late_s: log.append((f"timer {late_s}", loop.time() - STARTS_AT)))
        await asyncio.sleep(0.5)
        loop.freeze("gw1#1", STARTS_AT + 10)
        await asyncio.sleep(0)
        log.append(("on", loop.time() - STARTS_AT))

    begin(loop, work(), "gw1#1")
    run(loop, asyncio.sleep(20), on="b#1")
    assert log == [("on", 10.0), ("timer 1", 10.0), ("timer 2", 10.0), ("timer 3", 10.0)]


def test_others_go_on_while_one_is_frozen(loop: VirtualLoop) -> None:
    loop.freeze("gw1#1", STARTS_AT + 10)
    run(loop, asyncio.sleep(1), on="b#1")
    assert loop.time() == STARTS_AT + 1


def test_of_two_freezes_the_longer_one_counts(loop: VirtualLoop) -> None:
    loop.freeze("gw1#1", STARTS_AT + 10)
    loop.freeze("gw1#1", STARTS_AT + 20)
    loop.freeze("gw1#1", STARTS_AT + 5)
    run(loop, asyncio.sleep(0), on="gw1#1")
    assert loop.time() == STARTS_AT + 20


def test_a_process_killed_while_frozen_never_thaws(loop: VirtualLoop) -> None:
    log: list[str] = []
    loop.start_on("gw1#1", asyncio.sleep(0), name="work").add_done_callback(lambda _: log.append("done"))
    loop.freeze("gw1#1", STARTS_AT + 10)
    run(loop, asyncio.sleep(1), on="b#1")
    loop.crash("gw1#1")
    run(loop, asyncio.sleep(20), on="b#1")
    assert log == []


def test_closing_with_tasks_of_all_kinds_left_makes_no_noise() -> None:
    async def stubborn() -> None:
        try:
            await for_ever()
        finally:
            await asyncio.sleep(1)

    async def grouped() -> None:
        async with asyncio.TaskGroup() as group, asyncio.timeout(1e9):
            group.create_task(stubborn())
            await for_ever()

    async def restless() -> None:
        try:
            await for_ever()
        finally:
            asyncio.get_running_loop()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loop = make_loop()
        for number, work in enumerate((stubborn(), grouped(), restless())):
            begin(loop, work, "gw1#1", str(number))
        run(loop, asyncio.sleep(1), on="b#1")
        begin(loop, for_ever(), "gw1#1", "never begun")
        loop.crash("gw1#1")
        loop.close()
        kept = list(loop.unhandled)
        del loop
        gc.collect()
    assert kept == []


def test_closing_ends_what_waits_inside_of_a_generator() -> None:
    log: list[str] = []

    async def waiting() -> None:
        try:
            await for_ever()
        finally:
            log.append("ended")

    async def told() -> AsyncIterator[int]:
        yield 1
        await waiting()

    async def hearing() -> None:
        async for _ in told():
            pass

    loop = make_loop()
    begin(loop, hearing(), "gw1#1")
    run(loop, asyncio.sleep(1), on="b#1")
    loop.crash("gw1#1")
    assert log == []
    loop.close()
    assert log == ["ended"]
