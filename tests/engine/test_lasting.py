"""Loops that outlive their own mistakes."""

import asyncio
from collections.abc import Iterator

import pytest

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.engine.lasting import AGAIN_MAX_S, AGAIN_S, CALM_S, lasting, run_lasting, spared
from ktms.ports.telemetry import Count
from tests.engine.virtual_loop import after


class Failing:
    """Fails at once, or after so long, as often as it is told; then it runs on."""

    def __init__(self, *lives_s: float, error: BaseException | None = None) -> None:
        self.begun_at: list[float] = []
        self._lives_s: Iterator[float] = iter(lives_s)
        self._error = error or KeyError("nobody foresaw it")

    async def run(self) -> None:
        self.begun_at.append(asyncio.get_running_loop().time())
        life_s = next(self._lives_s, None)
        if life_s is None:
            await asyncio.get_running_loop().create_future()
            return
        if life_s:
            await after(life_s)
        raise self._error

    @property
    def pauses_s(self) -> list[float]:
        return [later - former for former, later in zip(self.begun_at, self.begun_at[1:], strict=False)]


async def test_a_loop_that_fails_is_told_and_begun_again_and_the_others_never_notice() -> None:
    telemetry, failing, other = MemoryTelemetry(), Failing(0.0), Failing()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_lasting({"failing": failing.run, "other": other.run}, telemetry))
        await after(10 * AGAIN_S)
        running.cancel()
    assert (len(failing.begun_at), len(other.begun_at)) == (2, 1)
    assert telemetry.labelled[Count.LOOPS_FAILED, "failing"] == 1
    event = telemetry.events[0]
    assert (event.level, event.name, event.facts["kind"]) == ("error", "internal_error", "KeyError")
    assert event.facts["loop"] == "failing"
    assert "nobody foresaw it" not in str(event.facts)


async def test_pauses_grow_while_it_fails_and_never_beyond_their_bound() -> None:
    failing = Failing(*[0.0] * 8)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lasting("failing", failing.run, MemoryTelemetry()))
        await after(10 * AGAIN_MAX_S)
        running.cancel()
    assert failing.pauses_s == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


async def test_whoever_ran_well_for_long_is_begun_again_soon() -> None:
    failing = Failing(0.0, 0.0, 0.0, CALM_S, 0.0)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lasting("failing", failing.run, MemoryTelemetry()))
        await after(10 * CALM_S)
        running.cancel()
    assert failing.pauses_s == [1.0, 2.0, 4.0, CALM_S + AGAIN_S, 2 * AGAIN_S]


async def test_a_loop_that_ends_by_itself_is_not_begun_again() -> None:
    async def ends() -> None:
        await after(1.0)

    telemetry = MemoryTelemetry()
    await run_lasting({"ends": ends}, telemetry)
    assert telemetry.events == []


async def test_a_cancellation_that_nobody_asked_for_does_not_end_a_loop_in_silence() -> None:
    telemetry, failing = MemoryTelemetry(), Failing(0.0, error=asyncio.CancelledError())
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lasting("lost", failing.run, telemetry))
        await after(2 * AGAIN_S)
        running.cancel()
    assert len(failing.begun_at) == 2
    assert telemetry.events[0].facts["kind"] == "CancelledError"


@pytest.mark.parametrize("lives_s", [(), (0.0,)], ids=["while it runs", "while it pauses"])
async def test_it_ends_at_once_when_it_is_asked_to(lives_s: tuple[float, ...]) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(lasting("asked", Failing(*lives_s).run, MemoryTelemetry()))
        await after(0.5 * AGAIN_S)
        running.cancel()
        await asyncio.wait((running,), timeout=0.1)
        assert running.cancelled()


async def test_what_is_done_once_costs_no_more_than_itself() -> None:
    telemetry = MemoryTelemetry()
    await spared("once", Failing(0.0).run, telemetry)
    assert [event.facts["loop"] for event in telemetry.events] == ["once"]
