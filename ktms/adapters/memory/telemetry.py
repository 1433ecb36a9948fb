"""Telemetry that keeps everything it is told, in order, for tests and simulated worlds to read.

It lives as long as one test or one world and is never part of a running gateway, so its lists have no bound.
"""

from collections import Counter
from dataclasses import dataclass, field

from ktms.ports.telemetry import CallRecord, Count, Dependency, Gauge


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One event as it was logged."""

    level: str
    name: str
    facts: dict[str, str | float | None]


@dataclass(slots=True)
class MemoryTelemetry:
    """Implements the telemetry port. `failures` are (dependency, operation, kind); `gauges` by (gauge, label)."""

    in_flight: int = 0
    calls: list[CallRecord] = field(default_factory=list)
    failures: list[tuple[Dependency, str, str]] = field(default_factory=list)
    gauges: dict[tuple[Gauge, str], float] = field(default_factory=dict)
    events: list[LoggedEvent] = field(default_factory=list)
    counts: Counter[Count] = field(default_factory=Counter)
    labelled: Counter[tuple[Count, str]] = field(default_factory=Counter)

    def call_started(self) -> None:
        """Count one more call in flight."""
        self.in_flight += 1

    def call_ended(self, record: CallRecord) -> None:
        """Count the call off and keep its record."""
        self.in_flight -= 1
        self.calls.append(record)

    def dependency_failed(self, dependency: Dependency, operation: str, kind: str) -> None:
        """Keep the error."""
        self.failures.append((dependency, operation, kind))

    def gauge(self, gauge: Gauge, value: float, label: str = "") -> None:
        """Keep the newest value."""
        self.gauges[gauge, label] = value

    def counted(self, count: Count, amount: int = 1, label: str = "") -> None:
        """Add it up."""
        self.counts[count] += amount
        self.labelled[count, label] += amount

    def event(self, level: str, name: str, /, **facts: str | float | None) -> None:
        """Keep the event."""
        self.events.append(LoggedEvent(level, name, facts))
