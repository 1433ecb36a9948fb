"""The real clock."""

import asyncio
import time

import pytest

from ktms.adapters.system.clock import SystemClock


async def test_monotonic_is_the_time_of_the_running_loop() -> None:
    loop = asyncio.get_running_loop()
    before = loop.time()
    assert before <= SystemClock().monotonic() <= loop.time()


def test_monotonic_without_a_loop_is_our_mistake() -> None:
    with pytest.raises(RuntimeError):
        SystemClock().monotonic()


def test_wall_is_the_machines_time() -> None:
    before = time.time_ns()
    assert before / 1e9 - 1e-3 <= SystemClock().wall() <= time.time_ns() / 1e9 + 1e-3


def test_a_loop_with_another_time_carries_the_clock_along() -> None:
    class Virtual(asyncio.SelectorEventLoop):
        def time(self) -> float:
            return 12345.0

    async def read() -> float:
        return SystemClock().monotonic()

    loop = Virtual()
    try:
        assert loop.run_until_complete(read()) == 12345.0
    finally:
        loop.close()
