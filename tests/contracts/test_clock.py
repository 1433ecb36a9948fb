"""Contract of `ktms/ports/clock.py`: one suite for every implementation."""

import asyncio
import time
from collections.abc import Callable

import pytest

from ktms.adapters.memory.clock import LoopClock, ManualClock
from ktms.adapters.system.clock import SystemClock
from ktms.ports.clock import Clock
from sim.fakes.clock import HostClock


@pytest.fixture(params=[ManualClock, LoopClock, HostClock, SystemClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


async def test_monotonic_never_goes_back(clock: Clock) -> None:
    readings = []
    for _ in range(100):
        readings.append(clock.monotonic())
        await asyncio.sleep(0)
    assert readings == sorted(readings)


async def test_the_wall_stands_in_this_century(clock: Clock) -> None:
    assert 1_700_000_000 < clock.wall() < 4_102_444_800


async def test_both_clocks_run_at_the_same_pace(clock: Clock) -> None:
    before = clock.wall() - clock.monotonic()
    assert clock.wall() - clock.monotonic() == pytest.approx(before, abs=0.1)


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
@pytest.mark.parametrize("jumping", [ManualClock, LoopClock, HostClock])
async def test_a_jump_of_the_wall_moves_the_wall_alone(
    jumping: Callable[[], ManualClock | LoopClock | HostClock], seconds: float
) -> None:
    clock = jumping()
    monotonic, wall = clock.monotonic(), clock.wall()
    clock.jump_wall(seconds)
    assert clock.wall() - wall == pytest.approx(seconds, abs=5)
    assert 0 <= clock.monotonic() - monotonic < 5


def test_the_systems_monotonic_clock_is_the_one_that_no_setting_of_the_date_moves() -> None:
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    assert before <= SystemClock().monotonic() <= time.clock_gettime(time.CLOCK_MONOTONIC)
    before = time.clock_gettime(time.CLOCK_REALTIME)
    assert before <= SystemClock().wall() + 1e-3


def test_time_by_hand_passes_on_both_clocks_alike() -> None:
    clock = ManualClock(monotonic=10, wall=1_800_000_000)
    clock.advance(2.5)
    assert (clock.monotonic(), clock.wall()) == (12.5, 1_800_000_002.5)


def test_time_by_hand_is_never_turned_back() -> None:
    with pytest.raises(AssertionError):
        ManualClock().advance(-1)


@pytest.mark.parametrize("running", [LoopClock, HostClock, SystemClock])
async def test_a_running_clock_is_the_one_its_loops_timers_use(running: Callable[[], Clock]) -> None:
    clock = running()
    loop = asyncio.get_running_loop()
    fired: asyncio.Future[float] = loop.create_future()
    due_at = clock.monotonic() + 0.01
    loop.call_at(due_at, lambda: fired.set_result(clock.monotonic()))
    assert await fired >= due_at - 1e-6
