"""What one replica tells its operators, as facts; kept are only what is in flight and the newest gauges.

Rules: a gauge is a fact when its value is another than before, so a poll that finds nothing new writes nothing.
"""

from ktms.ports.telemetry import AttemptRecord, CallRecord, Count, Dependency, Gauge
from sim.journal.journal import Journal


class JournalTelemetry:
    """Implements the `Telemetry` port. `gauges` has the newest value by (gauge, label)."""

    def __init__(self, host: str, journal: Journal) -> None:
        self._host = host
        self._journal = journal
        self.in_flight = 0
        self.gauges: dict[tuple[Gauge, str], float] = {}

    def call_started(self) -> None:
        """Count one more call in flight."""
        self.in_flight += 1

    def call_ended(self, record: CallRecord) -> None:
        """Count the call off and note its record."""
        self.in_flight -= 1
        self._journal.note(
            _kind_of(record),
            self._host,
            request_id=record.request_id,
            status=record.status,
            code=record.code,
            cancelled=record.cancelled,
            attempts="|".join(map(_attempt_text, record.attempts)),
            route=record.route,
            key=record.key_id,
            model=record.model,
            chain=record.chain,
            vendor=record.vendor,
            node=record.node,
            placement=record.placement,
            streamed=record.streamed,
            prompt_tokens=record.prompt_tokens,
            completion_tokens=record.completion_tokens,
            total_s=record.total_s,
            upstream_s=record.upstream_s,
            queue_s=record.queue_s,
            forecast_s=record.forecast_s,
            first_token_s=record.first_token_s,
            batch=record.batch,
            cache=record.cache,
            replayed=record.replayed,
        )

    def dependency_failed(self, dependency: Dependency, operation: str, kind: str) -> None:
        """Note an error of a dependency."""
        self._journal.note(
            "dependency_failed", self._host, dependency=dependency.value, operation=operation, failure=kind
        )

    def gauge(self, gauge: Gauge, value: float, label: str = "") -> None:
        """Keep the newest value, and note it if it is new."""
        if self.gauges.get((gauge, label)) != value:
            self.gauges[gauge, label] = value
            self._journal.note("gauge", self._host, name=gauge.value, label=label, value=value)

    def counted(self, count: Count, amount: int = 1, label: str = "") -> None:
        """Note it."""
        self._journal.note("counted", self._host, name=count.value, amount=amount, label=label)

    def event(self, level: str, name: str, /, **facts: str | float | None) -> None:
        """Note a line of the log with all that would stand in it."""
        text = " ".join(f"{key}={value}" for key, value in facts.items())
        self._journal.note("log", self._host, level=level, name=name, text=text)


def _kind_of(record: CallRecord) -> str:
    """Tell calls of clients from lines of batches and from what is about files and batches themselves."""
    if record.batch is not None:
        return "line_record"
    return "record" if f"/{record.route.strip('/')}" not in _SHELF else "shelf_record"


_SHELF = frozenset({"/files", "/batches"})


def _attempt_text(attempt: AttemptRecord) -> str:
    return f"{attempt.vendor}/{attempt.node or ''}={attempt.result}"
