"""What every telemetry must do, the fakes and the real one alike."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.telemetry.gateway_telemetry import GatewayTelemetry, LogSettings
from ktms.domain.ids import RequestId
from ktms.ports.telemetry import CallRecord, Dependency, Gauge, Telemetry
from sim.fakes.telemetry import JournalTelemetry
from sim.journal.journal import Journal


class _StillClock:
    def monotonic(self) -> float:
        return 5.0

    def wall(self) -> float:
        return 1_790_000_000.25


@dataclass(frozen=True, slots=True)
class Seen:
    """What an operator sees, whatever the implementation."""

    telemetry: Telemetry
    in_flight: Callable[[], int]
    calls: Callable[[], int]
    failures: Callable[[str, str, str], int]
    gauge: Callable[[Gauge, str], float | None]
    logged: Callable[[str], bool]


def record(status: int = 200) -> CallRecord:
    return CallRecord(
        request_id=RequestId("01900000-0000-7000-8000-000000000001"),
        route="/v1/chat/completions",
        status=status,
        code=None,
        key_id=None,
        tenant=None,
        model=None,
        chain=None,
        vendor=None,
        node=None,
        placement=None,
        streamed=False,
        attempts=(),
        total_s=0.25,
        upstream_s=0.2,
        queue_s=0.0,
        first_token_s=None,
        prompt_tokens=0,
        completion_tokens=0,
        cancelled=False,
    )


def _seen_in_memory() -> Seen:
    telemetry = MemoryTelemetry()
    return Seen(
        telemetry,
        in_flight=lambda: telemetry.in_flight,
        calls=lambda: len(telemetry.calls),
        failures=lambda *what: sum((seen[0].value, *seen[1:]) == what for seen in telemetry.failures),
        gauge=lambda gauge, label: telemetry.gauges.get((gauge, label)),
        logged=lambda name: any(event.name == name for event in telemetry.events),
    )


def _seen_in_a_world() -> Seen:
    journal = Journal(lambda: 0.0)
    telemetry = JournalTelemetry("gw1", journal)

    def failures(dependency: str, operation: str, kind: str) -> int:
        what = {"dependency": dependency, "operation": operation, "failure": kind}
        return sum(what == fact.members for fact in journal.of("dependency_failed"))

    return Seen(
        telemetry,
        in_flight=lambda: telemetry.in_flight,
        calls=lambda: sum(1 for _ in journal.of("record")),
        failures=failures,
        gauge=lambda gauge, label: telemetry.gauges.get((gauge, label)),
        logged=lambda name: journal.has("log", name=name),
    )


def _seen_for_real(log: Path, fd: int) -> Seen:
    telemetry = GatewayTelemetry(_StillClock(), LogSettings(fd=fd), version="1.2.3")

    def sample(start: str) -> float | None:
        lines = telemetry.exposition().decode().splitlines()
        return (
            sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(start))
            if any(line.startswith(start) for line in lines)
            else None
        )

    def failures(dependency: str, operation: str, kind: str) -> int:
        labels = f'dependency="{dependency}",kind="{kind}",operation="{operation}"'
        return int(sample(f"ktms_dependency_errors_total{{{labels}}}") or 0)

    def gauge_value(gauge: Gauge, label: str) -> float | None:
        name = gauge.value.removesuffix("_s") + "_seconds" if gauge.value.endswith("_s") else gauge.value
        label_name = {Gauge.DEPENDENCY_UP: "dependency", Gauge.BREAKER_STATE: "vendor"}.get(gauge, "node")
        return sample(f'ktms_{name}{{{label_name}="{label}"}}' if label else f"ktms_{name} ")

    def logged(name: str) -> bool:
        telemetry.stop()
        return f'"event":"{name}"' in log.read_text()

    return Seen(
        telemetry,
        in_flight=lambda: int(sample("ktms_in_flight ") or 0),
        calls=lambda: int(sample("ktms_requests_total{") or 0),
        failures=failures,
        gauge=gauge_value,
        logged=logged,
    )


@pytest.fixture(params=["fake", "sim", "adapter"])
def seen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Seen]:
    if request.param == "fake":
        yield _seen_in_memory()
        return
    if request.param == "sim":
        yield _seen_in_a_world()
        return
    log = tmp_path / "log"
    fd = os.open(log, os.O_WRONLY | os.O_CREAT)
    yield _seen_for_real(log, fd)
    os.close(fd)


def test_a_started_call_is_in_flight(seen: Seen) -> None:
    seen.telemetry.call_started()
    assert seen.in_flight() == 1


def test_an_ended_call_is_in_flight_no_more(seen: Seen) -> None:
    seen.telemetry.call_started()
    seen.telemetry.call_ended(record())
    assert seen.in_flight() == 0


def test_every_ended_call_is_kept(seen: Seen) -> None:
    for status in (200, 200, 502):
        seen.telemetry.call_started()
        seen.telemetry.call_ended(record(status))
    assert seen.calls() == 3


def test_a_failure_is_counted_under_its_dependency_operation_and_kind(seen: Seen) -> None:
    seen.telemetry.dependency_failed(Dependency.POSTGRES, "find_keys", "timeout")
    seen.telemetry.dependency_failed(Dependency.POSTGRES, "find_keys", "timeout")
    seen.telemetry.dependency_failed(Dependency.REDIS, "find_keys", "timeout")
    assert seen.failures("postgres", "find_keys", "timeout") == 2


def test_a_gauge_holds_its_newest_value(seen: Seen) -> None:
    seen.telemetry.gauge(Gauge.SNAPSHOT_VERSION, 3)
    seen.telemetry.gauge(Gauge.SNAPSHOT_VERSION, 2)
    assert seen.gauge(Gauge.SNAPSHOT_VERSION, "") == 2


def test_a_gauge_keeps_its_labels_apart(seen: Seen) -> None:
    seen.telemetry.gauge(Gauge.BREAKER_STATE, 2, "openai")
    seen.telemetry.gauge(Gauge.BREAKER_STATE, 0, "mistral")
    assert seen.gauge(Gauge.BREAKER_STATE, "openai") == 2


def test_a_gauge_that_was_never_set_is_absent(seen: Seen) -> None:
    assert seen.gauge(Gauge.BREAKER_STATE, "nobody") is None


def test_an_event_is_logged(seen: Seen) -> None:
    seen.telemetry.event("warning", "snapshot_refused", reason="dangling target", age_s=4.0, vendor=None)
    assert seen.logged("snapshot_refused")


def test_an_event_with_an_unknown_level_is_still_logged(seen: Seen) -> None:
    seen.telemetry.event("catastrophe", "odd_level")
    assert seen.logged("odd_level")
