import asyncio

import pytest

from ktms.engine.drain import Drain, Phase


def test_phases_follow_one_another_and_never_go_back() -> None:
    drain = Drain()
    assert drain.takes_calls
    assert not drain.leaving
    drain.leave()
    assert drain.leaving
    assert drain.takes_calls
    drain.close()
    drain.leave()
    assert drain.phase is Phase.CLOSED
    assert not drain.takes_calls


async def test_quiet_waits_for_the_last_call() -> None:
    drain, go = Drain(), asyncio.Event()

    async def call() -> None:
        drain.entered()
        await go.wait()
        drain.left()

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(call())
        waiting = group.create_task(drain.quiet())
        while drain.inflight < 3:
            await asyncio.sleep(0)
        assert not waiting.done()
        go.set()
    assert drain.inflight == 0


async def test_quiet_returns_at_once_when_nothing_is_under_way() -> None:
    await Drain().quiet()


async def test_cut_interrupts_each_call_still_under_way() -> None:
    drain, ends = Drain(), []

    async def call() -> None:
        drain.entered()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append(drain.cutting)
        finally:
            drain.left()

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(call())
        while drain.inflight < 2:
            await asyncio.sleep(0)
        drain.cut()
    assert ends == [True, True]


async def test_leaving_twice_is_our_mistake() -> None:
    with pytest.raises(AssertionError):
        Drain().left()
