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

STREAMS = 200
STREAM_EVERY_MS = 50
"""20 chunks a second each, about what a good machine writes."""

MANY_STREAMS = 1000
MANY_EVERY_MS = 100

QUICK = Plan(
    "quick",
    rounds=3,
    closed_s=0.5,
    stream_rounds=2,
    stream_chunks=20,
    idle_streams=300,
    many_chunks=20,
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
"""Takes about eight minutes."""
