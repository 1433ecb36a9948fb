import asyncio

import pytest

from sim.fakes.clock import WALL_AT_START, HostClock
from tests.sim.fakes.virtual import run


def test_the_monotonic_clock_counts_from_the_boot_of_its_host() -> None:
    async def work() -> float:
        return HostClock(boot_offset_s=500).monotonic() - asyncio.get_running_loop().time()

    assert run(work) == 500


def test_drift_moves_the_wall_and_not_the_monotonic_clock() -> None:
    async def work() -> tuple[float, float]:
        clock = HostClock(drift=0.01)
        monotonic, wall = clock.monotonic(), clock.wall()
        await asyncio.sleep(100)
        return clock.monotonic() - monotonic, clock.wall() - wall

    assert run(work) == pytest.approx((100, 101))


def test_two_hosts_disagree_by_their_offsets() -> None:
    async def work() -> float:
        return HostClock(wall_offset_s=5).wall() - HostClock().wall()

    assert run(work) == 5


def test_a_clock_that_was_given_its_loop_can_be_read_outside_of_it() -> None:
    loop = asyncio.new_event_loop()
    assert HostClock(loop).wall() >= WALL_AT_START
    loop.close()
