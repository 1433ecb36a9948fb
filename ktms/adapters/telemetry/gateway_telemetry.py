"""The telemetry of one worker process: counts at once, does the rest every 100 ms.

A call costs a counter and an append; metrics and its line are made later, many in one warm loop. A scrape and a
stop settle first, so nothing is missing from either; a SIGKILL loses at most one period of lines.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ktms.adapters.telemetry.access_line import LogFormat, access_format, level_of
from ktms.adapters.telemetry.exposition import registry_of, text_of
from ktms.adapters.telemetry.library_logs import LibraryLogs
from ktms.adapters.telemetry.line_writer import LineWriter
from ktms.adapters.telemetry.structured import LEVELS, event_log
from ktms.adapters.telemetry.tally import Tally
from ktms.ports.clock import Clock
from ktms.ports.telemetry import CallRecord, Count, Dependency, Gauge

SETTLE_EVERY_S = 0.1
"""How old a record gets: short for a person who watches lines, long enough to share one loop."""

RECORDS_HELD_MAX = 512
"""Records that wait; more are settled on the spot, some 5 ms: far below a lag that anybody would notice."""

STOP_WAIT_S = 1.0
"""How long a stop waits for a slow reader of the log: a fraction of the time a shutdown has."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How to log: the format, the lowest level written, and the descriptor (1 is standard output)."""

    log_format: LogFormat = LogFormat.JSON
    level: str = "info"
    fd: int = 1


class GatewayTelemetry:
    """Implements the telemetry port."""

    def __init__(self, clock: Clock, settings: LogSettings, *, version: str) -> None:
        self._clock = clock
        self._level = LEVELS[settings.level]
        self._records: list[tuple[float, CallRecord]] = []
        self._lag_s = 0.0  # the worst since the last scrape
        self._tally = Tally()
        self._writer = LineWriter(settings.fd)
        self._line = access_format(settings.log_format)
        self._log = event_log(self._writer, clock, settings.log_format, self._level)
        self._registry = registry_of(self._tally, self._writer, version)

    def call_started(self) -> None:
        """Count one more call in flight."""
        self._tally.in_flight += 1

    def call_ended(self, record: CallRecord) -> None:
        """Count the call off and keep its record until the next settling."""
        self._tally.in_flight -= 1
        self._records.append((self._clock.wall(), record))
        if len(self._records) >= RECORDS_HELD_MAX:
            self.settle()

    def dependency_failed(self, dependency: Dependency, operation: str, kind: str) -> None:
        """Count an error of a dependency."""
        self._tally.add_failure(dependency, operation, kind)

    def gauge(self, gauge: Gauge, value: float, label: str = "") -> None:
        """Set a value of the moment; of the loop's lag the worst is kept until the next scrape."""
        if gauge is Gauge.LOOP_LAG_S:
            self._lag_s = max(self._lag_s, value)
        else:
            self._tally.set_gauge(gauge, value, label)

    def counted(self, count: Count, amount: int = 1, label: str = "") -> None:
        """Count something."""
        self._tally.add_count(count, amount, label)

    def event(self, level: str, name: str, /, **facts: str | float | None) -> None:
        """Log an event; a level that does not exist counts as an error, for telemetry never raises."""
        self._log(LEVELS.get(level, LEVELS["error"]), name, facts)

    def settle(self) -> None:
        """Turn the records held into metrics and lines."""
        records, self._records = self._records, []
        lines: list[bytes] = []
        for wall_s, record in records:
            self._tally.add_call(record)
            if LEVELS[level_of(record)] >= self._level:
                lines.append(self._line(wall_s, record))
        if lines:
            self._writer.put(b"".join(lines), len(lines))

    def exposition(self) -> bytes:
        """Give the Prometheus text of this moment, everything settled."""
        self.settle()
        self._tally.set_gauge(Gauge.LOOP_LAG_S, self._lag_s, "")
        self._lag_s = 0.0
        return text_of(self._registry)

    async def run(self) -> None:
        """Settle every 100 ms until cancelled."""
        while True:
            await asyncio.sleep(SETTLE_EVERY_S)
            self.settle()

    def stop(self) -> bool:
        """Settle and write everything out, waiting at most a second; False when lines were left behind."""
        self.settle()
        return self._writer.close(STOP_WAIT_S)


@contextmanager
def open_telemetry(clock: Clock, settings: LogSettings, *, version: str) -> Iterator[GatewayTelemetry]:
    """Log and count while the block runs, what libraries say included."""
    telemetry = GatewayTelemetry(clock, settings, version=version)
    libraries = LibraryLogs(telemetry)
    logging.getLogger().addHandler(libraries)
    try:
        yield telemetry
    finally:
        logging.getLogger().removeHandler(libraries)
        telemetry.stop()
