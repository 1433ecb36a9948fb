"""The bars of the performance document, and how the gateway's figures stand against them. Pure."""

from dataclasses import dataclass
from enum import Enum

from tests.perf.contenders import ALL_ON, DIRECT, GATEWAY, LEASED
from tests.perf.measure import ALONE, BUSY, IDLE, MANY, STREAMS, Figures


class Verdict(Enum):
    """How a figure stands."""

    GOAL = "goal reached"
    FIRST = "first bar reached"
    MISSED = "missed"
    UNKNOWN = "not measured"


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of the document's table, and a gateway's figure: always the lower quartile."""

    name: str
    unit: str
    first: float
    goal: float
    value: float | None

    @property
    def verdict(self) -> Verdict:
        """How the figure stands."""
        if self.value is None:
            return Verdict.UNKNOWN
        if self.value <= self.goal:
            return Verdict.GOAL
        return Verdict.FIRST if self.value <= self.first else Verdict.MISSED


SLOPE_NOISE_BYTES = 5.0
"""One megabyte over 200,000 requests: less than the allocator's own coming and going."""

KB = 1000.0


def bars(figures: Figures) -> list[Bar]:
    """Give all rows: of the gateway with everything on, but where another is named."""
    bare, leased = figures.of(BUSY, GATEWAY), figures.of(BUSY, LEASED)
    alone, busy, streams = (figures.of(part, ALL_ON) for part in (ALONE, BUSY, STREAMS))
    idle = figures.of(IDLE, ALL_ON).quartile("bytes")
    slope = figures.slope.beyond_noise if figures.slope else None
    return [
        Bar("CPU per request, 32 connections, without Redis limits", "us", 250, 90, bare.quartile("cpu_us")),
        Bar("CPU per request, 32 connections, own node with a lease", "us", 400, 110, leased.quartile("cpu_us")),
        Bar("CPU of Redis per request, lease alone", "us", 100, 40, leased.quartile("beside_us")),
        Bar("CPU per request, 32 connections, everything on", "us", 400, 110, busy.quartile("cpu_us")),
        Bar("CPU of Redis per request, everything on", "us", 100, 40, busy.quartile("beside_us")),
        Bar("CPU per relayed chunk, 200 streams", "us", 90, 45, streams.quartile("cpu_us")),
        Bar("added latency alone, p50", "ms", 0.8, 0.3, alone.quartile("added_p50_ms")),
        Bar("added latency alone, p99", "ms", 3, 1, alone.quartile("added_p99_ms")),
        Bar("added time to first token, 200 streams, p99", "ms", 10, 2, streams.quartile("added_first_p99_ms")),
        Bar("memory per idle open stream", "kB", 40, 15, None if idle is None else idle / KB),
        Bar("1,000 streams: stalled over 250 ms", "streams", 0, 0, _stalled(figures)),
        Bar(
            "memory growth beyond noise",
            "bytes/request",
            SLOPE_NOISE_BYTES,
            SLOPE_NOISE_BYTES,
            slope,
        ),
    ]


def _stalled(figures: Figures) -> float | None:
    """Give the streams that stalled; None when even the bare upstream's did: then the machine was too busy."""
    if figures.of(MANY, DIRECT).median("stalled"):
        return None
    return figures.of(MANY, ALL_ON).quartile("stalled")
