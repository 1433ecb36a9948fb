"""One window of measuring on one contender: load on, processor time and memory before and after."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.perf.child import Child
from tests.perf.contenders import Contender
from tests.perf.plan import Pace
from tests.perf.proc import rss_bytes, time_of


@dataclass(slots=True)
class Samples:
    """What the windows of one contender gave, figure by figure."""

    figures: dict[str, list[float]] = field(default_factory=dict)

    def add(self, **figures: float) -> None:
        """Keep one window's figures."""
        for name, value in figures.items():
            self.figures.setdefault(name, []).append(value)

    def median(self, name: str) -> float | None:
        """Give the median; None without samples."""
        return quantile(self.figures.get(name, ()), 0.5)

    def quartile(self, name: str) -> float | None:
        """Give the lower quartile; None without samples."""
        return quantile(self.figures.get(name, ()), 0.25)


def quantile(values: Sequence[float], share: float) -> float | None:
    """Give a quantile by linear interpolation; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def closed(load: Child, contender: Contender, connections: int, seconds: float) -> dict[str, float]:
    """Measure a closed loop: us of processor time per request, requests per second, latencies."""
    before, beside = time_of(contender.pids), time_of(contender.beside)
    told = load.ask(do="closed", port=contender.port, key=contender.key, connections=connections, seconds=seconds)
    spent, spent_beside = time_of(contender.pids).since(before), time_of(contender.beside).since(beside)
    count = number(told, "count")
    figures = {
        "per_s": count / number(told, "took_s"),
        "p50_ms": number(told, "p50_ms"),
        "p99_ms": number(told, "p99_ms"),
        "count": count,
    }
    if contender.pid is not None:
        figures["cpu_us"] = spent.ran_ns / 1000 / count
        figures["waited"] = spent.waited_share
    if contender.beside:
        figures["beside_us"] = spent_beside.ran_ns / 1000 / count
    return figures


def streams(load: Child, contender: Contender, pace: Pace, chunks: int) -> dict[str, float]:
    """Measure many streams at once: us of processor time per chunk, time to the first chunk, late chunks."""
    before = time_of(contender.pids)
    told = load.ask(
        do="streams",
        port=contender.port,
        key=contender.key,
        streams=pace.streams,
        chunks=chunks,
        every_ms=pace.every_ms,
        ramp_ms=pace.ramp_ms,
    )
    spent = time_of(contender.pids).since(before)
    gaps = told["gaps_ms"]
    assert isinstance(gaps, list)
    seen = number(told, "chunks")
    wanted = pace.streams * chunks
    assert seen == wanted, f"{contender.name} lost chunks: {seen} of {wanted}"
    figures = {
        "first_p50_ms": number(told, "p50_ms"),
        "first_p99_ms": number(told, "p99_ms"),
        "broken": number(told, "broken"),
        "late_ms_max": max(gaps) - pace.every_ms,
        "stalled": float(sum(gap - pace.every_ms > STALL_MS for gap in gaps)),
    }
    if contender.pid is not None:
        figures["cpu_us"] = spent.ran_ns / 1000 / seen
        figures["waited"] = spent.waited_share
    return figures


STALL_MS = 250
"""A chunk that comes so much later than due is a stall."""


def idle_stream_bytes(load: Child, contender: Contender, count: int) -> float:
    """Measure the memory of one open, silent stream, after a warm-up of the same kind."""
    load.ask(do="open", port=contender.port, key=contender.key, streams=count // 10, ramp_ms=1)
    load.ask(do="drop")
    before = rss_bytes(contender.pids)
    opened = load.ask(do="open", port=contender.port, key=contender.key, streams=count, ramp_ms=1)
    during = rss_bytes(contender.pids)
    load.ask(do="drop")
    assert opened["open"] == count, f"{contender.name} opened {opened['open']} of {count} streams"
    return (during - before) / count


def number(told: dict[str, Any], name: str) -> float:
    """Read a number out of what a child told."""
    return float(told[name])
