"""How many connections clients may hold: descriptors are for upstreams, databases and probes too (FG6, FG8).

Rules: where there are too many the oldest that is idle makes room, but for one that has only just come; where too
many ask at once calls are refused, while readiness, liveness and metrics still answer; beyond some more a
connection is closed as it comes.
Not here: the connections themselves (`fast_lane.py`, `listener.py`), how many files a process may open (app).
"""

from dataclasses import dataclass

EXTRA_MAX = 64
"""Connections beyond the bound, kept for probes and for telling callers why they are refused."""

FRESH_S = 0.25
"""Whoever has come so lately and has asked nothing yet is about to: its request is on its way or not read yet."""

FRESH_MAX = EXTRA_MAX // 2
"""So many beyond the bound may be spared for that; clients that only connect must not use up the extra."""


@dataclass(slots=True)
class Crowd:
    """Counts the connections of one port; `open` and `busy` are changed by whoever has them.

    Busy are those with a request, which may hold a connection to a target besides, and all that aiohttp serves.
    """

    most: int
    open: int = 0
    busy: int = 0

    @property
    def reached(self) -> bool:
        """Whether one more would be too many."""
        return self.open >= self.most

    @property
    def spares_fresh(self) -> bool:
        """Whether there is room enough to spare those who have just come."""
        return self.open < self.most + FRESH_MAX

    @property
    def refuses_calls(self) -> bool:
        """Whether too many ask at once."""
        return self.busy > self.most

    @property
    def full(self) -> bool:
        """Whether nobody else gets in."""
        return self.open >= self.most + EXTRA_MAX
