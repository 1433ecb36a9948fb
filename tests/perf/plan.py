"""How much is measured: a minute for a look, or long enough to be quoted."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Rounds of interleaved windows, and the size of each window."""

    name: str
    rounds: int
    closed_s: float
    stream_rounds: int
    stream_chunks: int
    idle_streams: int
    many_chunks: int
    slope_requests: int
    slope_windows: int


CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class Pace:
    """So many streams, one begun every `ramp_ms`, a chunk every `every_ms`; each must outlive the ramp."""

    streams: int
    every_ms: int
    ramp_ms: float


STREAMS = Pace(streams=200, every_ms=50, ramp_ms=3)
"""20 chunks a second each, about what a good machine writes."""

MANY = Pace(streams=1000, every_ms=100, ramp_ms=2)

QUICK = Plan(
    "quick",
    rounds=3,
    closed_s=0.5,
    stream_rounds=2,
    stream_chunks=30,
    idle_streams=300,
    many_chunks=40,
    slope_requests=20_000,
    slope_windows=10,
)

FULL = Plan(
    "full",
    rounds=9,
    closed_s=1.5,
    stream_rounds=5,
    stream_chunks=100,
    idle_streams=1000,
    many_chunks=100,
    slope_requests=200_000,
    slope_windows=40,
)
"""Takes about twelve minutes."""
