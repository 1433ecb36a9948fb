import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ktms.adapters.telemetry.gateway_telemetry import RECORDS_HELD_MAX
from ktms.ports.telemetry import CallRecord, Gauge


def test_a_scrape_sees_calls_that_were_not_settled_yet(bench: Any, make_record: Callable[..., CallRecord]) -> None:
    bench.telemetry.call_ended(make_record())
    assert bench.sample('ktms_requests_total{model="small",status="200",vendor="openai"}') == 1


def test_a_stop_writes_the_lines_that_were_not_settled_yet(
    bench: Any, make_record: Callable[..., CallRecord]
) -> None:
    bench.telemetry.call_ended(make_record())
    assert [line["event"] for line in bench.lines()] == ["call"]


def test_a_line_carries_the_time_of_its_call_not_of_its_settling(
    bench: Any, make_record: Callable[..., CallRecord]
) -> None:
    bench.telemetry.call_ended(make_record())
    bench.clock.wall_s += 60
    assert bench.lines()[0]["time"] == "2026-09-21T14:13:20.250Z"


def test_settling_twice_counts_once(bench: Any, make_record: Callable[..., CallRecord]) -> None:
    bench.telemetry.call_ended(make_record())
    bench.telemetry.settle()
    bench.telemetry.settle()
    assert len(bench.lines()) == 1


def test_records_beyond_the_limit_are_settled_at_once(bench: Any, make_record: Callable[..., CallRecord]) -> None:
    for _ in range(RECORDS_HELD_MAX):
        bench.telemetry.call_ended(make_record())
    assert bench.telemetry._records == []


def test_at_level_warning_only_failed_calls_have_a_line(
    make_bench: Callable[..., Any], make_record: Callable[..., CallRecord]
) -> None:
    bench = make_bench(level="warning")
    for status in (200, 404, 503):
        bench.telemetry.call_ended(make_record(status=status))
    assert [line["status"] for line in bench.lines()] == [503]


def test_calls_without_a_line_are_counted_all_the_same(
    make_bench: Callable[..., Any], make_record: Callable[..., CallRecord]
) -> None:
    bench = make_bench(level="error")
    bench.telemetry.call_ended(make_record())
    assert bench.sample('ktms_requests_total{model="small",status="200",vendor="openai"}') == 1


async def run_until_settled(bench: Any, then: Callable[[], None]) -> None:
    """Run the loop until it has settled once; `then` is called in that moment."""
    settled = asyncio.Event()
    settle = bench.telemetry.settle

    def settle_and_tell() -> None:
        settle()
        settled.set()

    bench.telemetry.settle = settle_and_tell
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(bench.telemetry.run())
        await asyncio.sleep(0)
        then()
        await settled.wait()
        running.cancel()


async def test_the_loop_settles_by_itself(bench: Any, make_record: Callable[..., CallRecord]) -> None:
    await run_until_settled(bench, lambda: bench.telemetry.call_ended(make_record()))
    assert bench.telemetry._records == []


def test_the_worst_lag_of_the_loop_shows_until_the_next_scrape(bench: Any) -> None:
    for late_s in (0.0, 0.9, 0.2):
        bench.telemetry.gauge(Gauge.LOOP_LAG_S, late_s)
    assert [bench.sample("ktms_loop_lag_seconds") for _ in range(2)] == [0.9, 0.0]


def test_a_level_that_does_not_exist_is_refused_at_start(make_bench: Callable[..., Any]) -> None:
    with pytest.raises(KeyError):
        make_bench(level="loud")
