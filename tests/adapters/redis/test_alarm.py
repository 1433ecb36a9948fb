import asyncio

from ktms.adapters.redis.alarm import LATE_S, Alarm
from tests.adapters.redis.stand_in import until


def stand_still(seconds: float) -> None:
    """Keep the loop from turning, as a long computation does."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + seconds
    while loop.time() < ends_at:
        pass


async def test_it_rings_once_when_the_time_has_come() -> None:
    rung: list[float] = []
    loop = asyncio.get_running_loop()
    at = loop.time() + 0.01
    Alarm(at, lambda: rung.append(loop.time()))
    await until(lambda: len(rung) > 0)
    assert rung[0] >= at - 0.001


async def test_it_does_not_ring_after_it_was_cancelled() -> None:
    rung: list[int] = []
    alarm = Alarm(asyncio.get_running_loop().time(), lambda: rung.append(1))
    alarm.cancel()
    alarm.cancel()
    last = Alarm(asyncio.get_running_loop().time(), lambda: rung.append(2))
    await until(lambda: len(rung) > 0)
    last.cancel()
    assert rung == [2]


async def test_after_the_loop_stood_still_what_has_come_is_read_first() -> None:
    order: list[str] = []
    loop = asyncio.get_running_loop()
    Alarm(loop.time() + 0.001, lambda: order.append("alarm"))
    stand_still(0.001 + 2 * LATE_S)
    loop.call_soon(lambda: loop.call_soon(lambda: order.append("read")))
    await until(lambda: len(order) == 2)
    assert order == ["read", "alarm"]


async def test_it_can_be_cancelled_in_that_moment_too() -> None:
    rung: list[int] = []
    loop = asyncio.get_running_loop()
    alarm = Alarm(loop.time() + 0.001, lambda: rung.append(1))
    stand_still(0.001 + 2 * LATE_S)
    loop.call_soon(lambda: loop.call_soon(alarm.cancel))
    Alarm(loop.time() + 0.02, lambda: rung.append(2))
    await until(lambda: len(rung) > 0)
    assert rung == [2]
