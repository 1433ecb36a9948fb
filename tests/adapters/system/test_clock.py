"""The real clock."""

import asyncio
import time

from ktms.adapters.system.clock import SystemClock


async def test_monotonic_counts_on_the_clock_of_the_loops_timers() -> None:
    loop = asyncio.get_running_loop()
    before = loop.time()
    assert before <= SystemClock().monotonic() <= loop.time()


def test_monotonic_needs_no_loop_and_never_goes_back() -> None:
    clock = SystemClock()
    readings = [clock.monotonic() for _ in range(1000)]
    assert readings == sorted(readings)


def test_wall_is_the_machines_time() -> None:
    before = time.time_ns()
    assert before / 1e9 - 1e-3 <= SystemClock().wall() <= time.time_ns() / 1e9 + 1e-3
