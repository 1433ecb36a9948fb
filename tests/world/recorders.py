"""Ports of the gateway that only remember: what was billed, what was counted."""

from dataclasses import dataclass, field

from ktms.domain.access.usage_event import UsageEvent
from ktms.ports.telemetry import CallRecord, Count, Dependency, Gauge
from tests.world.watch import PATIENCE_S, Watch


class RecordingSpool:
    """Keeps every usage event, and hands none of them on."""

    depth = 0
    lost_total = 0

    def __init__(self) -> None:
        self.events: list[UsageEvent] = []
        self._watch = Watch()

    def put(self, event: UsageEvent) -> None:
        """Keep one."""
        self.events.append(event)
        self._watch.changed()

    def oldest(self, count_max: int) -> tuple[UsageEvent, ...]:  # noqa: ARG002 - the port's
        """Lend nothing."""
        return ()

    def forget(self, count: int) -> None:
        """Nothing was lent."""

    def close(self) -> None:
        """Nothing is open."""

    async def event(self, index: int = 0, within_s: float = PATIENCE_S) -> UsageEvent:
        """Give the usage event of this index, waiting for it."""
        await self._watch.until(lambda: len(self.events) > index, f"usage event {index}", within_s)
        return self.events[index]


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One log line that is not the line of a request."""

    level: str
    name: str
    facts: dict[str, str | float | None]


@dataclass(slots=True)
class RecordingTelemetry:
    """Keeps every record, gauge and log event."""

    records: list[CallRecord] = field(default_factory=list)
    in_flight: int = 0
    gauges: dict[tuple[Gauge, str], float] = field(default_factory=dict)
    failures: list[tuple[Dependency, str, str]] = field(default_factory=list)
    events: list[LoggedEvent] = field(default_factory=list)
    _watch: Watch = field(default_factory=Watch)

    def call_started(self) -> None:
        """Count one more."""
        self.in_flight += 1

    def call_ended(self, record: CallRecord) -> None:
        """Count one off and keep its record."""
        self.in_flight -= 1
        self.records.append(record)
        self._watch.changed()

    def dependency_failed(self, dependency: Dependency, operation: str, kind: str) -> None:
        """Keep the failure."""
        self.failures.append((dependency, operation, kind))

    def gauge(self, gauge: Gauge, value: float, label: str = "") -> None:
        """Keep the value of the moment."""
        self.gauges[gauge, label] = value
        self._watch.changed()

    async def shows(self, gauge: Gauge, value: float, label: str = "") -> None:
        """Wait until a gauge stands at this value."""
        await self._watch.until(lambda: self.gauges.get((gauge, label)) == value, f"{gauge.value} is {value}")

    def counted(self, count: Count, amount: int = 1, label: str = "") -> None:
        """Nobody asks here."""

    def event(self, level: str, name: str, /, **facts: str | float | None) -> None:
        """Keep the line."""
        self.events.append(LoggedEvent(level, name, facts))

    async def record(self, index: int = 0, within_s: float = PATIENCE_S) -> CallRecord:
        """Give the call record of this index, waiting for it."""
        await self._watch.until(lambda: len(self.records) > index, f"call record {index}", within_s)
        return self.records[index]
