"""Since when others hold the slots of a node, inferred from counts that are read now and then.

The store tells how many slots are taken, not since when; a forecast wants to know how far the answers of other
replicas are. Rules: a count that rose means that somebody began since the reading before, one that fell that the
oldest has ended. A reading and what we took or gave back ourselves may have crossed on the way, so a count is
believed when two readings in a row have it. Not here: our own leases, whose beginning is known exactly.
"""


class Holders:
    """Those of one node that are not ours. `since`: when each began, by the caller's clock, the oldest first."""

    __slots__ = ("_before", "_before_at", "since")

    def __init__(self) -> None:
        self.since: list[float] = []
        self._before: int | None = None
        self._before_at = 0.0

    def __repr__(self) -> str:
        return f"Holders({len(self.since)})"

    def seen(self, count: int, now: float) -> None:
        """Take a reading: so many slots are held by others."""
        count = max(count, 0)
        known, before = len(self.since), self._before
        if before is not None:
            came, went = min(count, before) - known, known - max(count, before)
            self.since.extend([self._before_at] * came)
            del self.since[: max(went, 0)]
        self._before, self._before_at = count, now
