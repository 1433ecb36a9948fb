import asyncio

import pytest

from ktms.engine.drain import Drain, Phase
from tests.engine.virtual_loop import settle


def test_leaving_turns_readiness_off_and_still_takes_calls() -> None:
    drain = Drain()
    assert (drain.takes_calls, drain.leaving) == (True, False)
    drain.leave()
    assert (drain.takes_calls, drain.leaving) == (True, True)


def test_phases_never_go_back() -> None:
    drain = Drain()
    drain.close()
    drain.leave()
    assert (drain.phase, drain.takes_calls, drain.leaving) == (Phase.CLOSED, False, True)


async def test_quiet_waits_for_the_last_call() -> None:
    drain, go = Drain(), asyncio.Event()

    async def call() -> None:
        task = drain.entered()
        await go.wait()
        drain.left(task)

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(call())
        waiting = group.create_task(drain.quiet())
        await settle()
        assert drain.inflight == 3
        assert not waiting.done()
        go.set()
    assert drain.inflight == 0


async def test_quiet_returns_at_once_when_nothing_is_under_way() -> None:
    await Drain().quiet()


async def test_cut_interrupts_each_call_still_under_way() -> None:
    drain, ends = Drain(), []

    async def call() -> None:
        task = drain.entered()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append(drain.cutting)
        finally:
            drain.left(task)

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(call())
        await settle()
        drain.cut()
    assert ends == [True, True]


async def test_leaving_twice_is_our_mistake() -> None:
    task = asyncio.current_task()
    assert task is not None
    with pytest.raises(AssertionError):
        Drain().left(task)


async def test_quiet_ends_with_the_last_call_also_when_others_begin_meanwhile() -> None:
    drain, gates = Drain(), [asyncio.Event() for _ in range(3)]

    async def call(gate: asyncio.Event) -> None:
        task = drain.entered()
        await gate.wait()
        drain.left(task)

    async with asyncio.TaskGroup() as group:
        group.create_task(call(gates[0]))
        await settle()
        waiting = group.create_task(drain.quiet())
        await settle()
        group.create_task(call(gates[1]))
        await settle()
        gates[0].set()
        await settle()
        assert not waiting.done()
        gates[1].set()
        await settle()
        assert waiting.done()


async def test_quiet_may_be_given_up_and_asked_again() -> None:
    drain, go = Drain(), asyncio.Event()

    async def call() -> None:
        task = drain.entered()
        await go.wait()
        drain.left(task)

    async with asyncio.TaskGroup() as group:
        group.create_task(call())
        await settle()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await drain.quiet()
        go.set()
        await drain.quiet()
