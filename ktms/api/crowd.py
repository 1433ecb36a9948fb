"""How many connections clients may hold: descriptors are for upstreams, databases and probes too (FG6, FG8).

Rules: where there are too many the oldest that is idle makes room; where none is idle calls are refused, while
readiness, liveness and metrics still answer; beyond some more a connection is closed as it comes.
Not here: the connections themselves (`fast_lane.py`, `listener.py`), how many files a process may open (app).
"""

from dataclasses import dataclass

EXTRA_MAX = 64
"""Connections beyond the bound, kept for probes and for telling callers why they are refused."""


@dataclass(slots=True)
class Crowd:
    """Counts the connections of one port. `open` is changed by whoever opens and closes them."""

    most: int
    open: int = 0

    @property
    def reached(self) -> bool:
        """Whether one more would be too many."""
        return self.open >= self.most

    @property
    def refuses_calls(self) -> bool:
        """Whether there are too many."""
        return self.open > self.most

    @property
    def full(self) -> bool:
        """Whether nobody else gets in."""
        return self.open >= self.most + EXTRA_MAX
