"""Runs the plan: all contenders in turn within each round, so that noise falls on all of them alike."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.perf import plan as sizes
from tests.perf.contenders import ALL_ON, DIRECT, Contender, LineUp
from tests.perf.plan import Plan
from tests.perf.proc import rss_bytes
from tests.perf.slope import Slope, fit
from tests.perf.windows import Samples, closed, idle_stream_bytes, streams

BUSY, ALONE, STREAMS, MANY, IDLE = "busy", "alone", "streams", "many", "idle"
"""The parts: 32 connections, one connection, 200 streams, 1,000 streams, silent streams."""


@dataclass(slots=True)
class Figures:
    """All samples, by part and contender; the slope of the memory of the gateway with everything on."""

    samples: dict[str, dict[str, Samples]] = field(default_factory=dict)
    slope: Slope | None = None

    def of(self, part: str, name: str) -> Samples:
        """Give the samples of a contender in a part, empty ones when it was not measured."""
        return self.samples.setdefault(part, {}).setdefault(name, Samples())


def run(line_up: LineUp, plan: Plan) -> Figures:
    """Measure everything the plan names."""
    figures = Figures()
    _memory(line_up, figures, plan.idle_streams)
    for part, connections in ((BUSY, sizes.CONNECTIONS), (ALONE, 1)):
        for round_ in range(plan.rounds):
            _progress(f"{part}, round {round_ + 1} of {plan.rounds}")
            _closed_round(line_up, figures, part, connections, plan.closed_s)
    for round_ in range(plan.stream_rounds):
        _progress(f"{STREAMS}, round {round_ + 1} of {plan.stream_rounds}")
        _stream_round(line_up, figures, plan.stream_chunks)
    _progress(f"{sizes.MANY.streams} streams")
    for contender in _few(line_up):
        window = streams(line_up.load, contender, sizes.MANY, plan.many_chunks)
        figures.of(MANY, contender.name).add(**window)
    gateway = line_up.named(ALL_ON)
    if gateway is not None:
        figures.slope = _slope(line_up, gateway, plan)
    _progress("")
    return figures


def _memory(line_up: LineUp, figures: Figures, count: int) -> None:
    """Look at memory first: later, streams would live in what earlier ones left behind."""
    _progress("memory of open streams")
    for contender in line_up.contenders:
        if contender.pid is not None:
            bytes_each = idle_stream_bytes(line_up.load, contender, count)
            figures.of(IDLE, contender.name).add(bytes=bytes_each)


def _closed_round(line_up: LineUp, figures: Figures, part: str, connections: int, seconds: float) -> None:
    direct: dict[str, float] = {}
    for contender in line_up.contenders:
        window = closed(line_up.load, contender, connections, seconds)
        if contender.name == DIRECT:
            direct = window
        window |= {f"added_{name}": window[name] - direct[name] for name in ("p50_ms", "p99_ms")}
        figures.of(part, contender.name).add(**window)


def _stream_round(line_up: LineUp, figures: Figures, chunks: int) -> None:
    direct: dict[str, float] = {}
    for contender in line_up.contenders:
        window = streams(line_up.load, contender, sizes.STREAMS, chunks)
        if contender.name == DIRECT:
            direct = window
        window["added_first_p99_ms"] = window["first_p99_ms"] - direct["first_p99_ms"]
        figures.of(STREAMS, contender.name).add(**window)


def _few(line_up: LineUp) -> Iterable[Contender]:
    """Leave out who is only there for calibration, or could not stand a thousand streams."""
    return [c for c in line_up.contenders if c.name in {DIRECT, ALL_ON}]


def _slope(line_up: LineUp, gateway: Contender, plan: Plan) -> Slope:
    done, points = 0.0, []
    window_s = 0.3
    each = plan.slope_requests / plan.slope_windows
    for window in range(plan.slope_windows):
        _progress(f"memory over requests, {window + 1} of {plan.slope_windows}")
        target = done + each
        while done < target:
            told = closed(line_up.load, gateway, sizes.CONNECTIONS, window_s)
            done += told["count"]
            window_s = min(5.0, max(0.2, (target - done) / told["per_s"]))
        points.append((done, float(rss_bytes(gateway.pids))))
    return fit(points)


def _progress(text: str) -> None:
    """Show what is being measured, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
