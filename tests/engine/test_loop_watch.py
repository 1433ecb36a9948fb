import asyncio

import pytest

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.engine.loop_watch import BEHIND_LOOKS, BEHIND_S, BLOCKED_S, TELL_EVERY_S, LoopWatch
from ktms.ports.telemetry import Count, Gauge
from tests.engine.virtual_loop import after, settle

EVERY_S = 0.1


class House:
    """A watch whose clock the test moves."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.telemetry = MemoryTelemetry()
        self.watch = LoopWatch(self.clock, self.telemetry, EVERY_S)

    def looked(self, *late_s: float) -> None:
        for each_s in late_s:
            self.clock.advance(EVERY_S + each_s)
            self.watch.looked(each_s)

    @property
    def told(self) -> list[float | str | None]:
        return [event.facts["seconds"] for event in self.telemetry.events if event.name == "loop_blocked"]


@pytest.fixture
def house() -> House:
    return House()


async def test_fg7_a_loop_that_stands_still_is_measured(house: House) -> None:
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(house.watch.run())
        await settle()
        house.clock.advance(EVERY_S + 0.75)
        await after(EVERY_S)
        await settle()
        running.cancel()
    assert house.telemetry.gauges[Gauge.LOOP_LAG_S, ""] == 0.75
    assert house.telemetry.counts[Count.LOOP_BLOCKED] == 1


def test_a_loop_in_time_blocks_nobody(house: House) -> None:
    house.looked(0.0, -0.001, BLOCKED_S - 0.001)
    assert house.telemetry.counts[Count.LOOP_BLOCKED] == 0
    assert not house.told


def test_a_look_that_comes_early_by_a_rounding_is_in_time(house: House) -> None:
    house.looked(-0.0004)
    assert house.telemetry.gauges[Gauge.LOOP_LAG_S, ""] == 0.0


def test_fg7_stalls_in_a_row_are_all_counted_and_told_once_with_the_worst(house: House) -> None:
    house.looked(0.2, 0.3, 0.9, 0.15)
    assert house.telemetry.counts[Count.LOOP_BLOCKED] == 4
    assert house.told == [0.2]
    house.looked(*[0.0] * int(TELL_EVERY_S / EVERY_S + 1))
    assert house.told == [0.2, 0.9]


def test_one_long_stall_refuses_nobody(house: House) -> None:
    house.looked(30.0)
    assert not house.watch.behind


def test_fg6_a_loop_that_is_late_look_after_look_is_behind_until_one_comes_in_time(house: House) -> None:
    house.looked(*[BEHIND_S] * BEHIND_LOOKS)
    assert house.watch.behind
    house.looked(BEHIND_S - 0.001)
    assert not house.watch.behind
