"""Usage events that wait in memory: what a gateway without a spool folder has."""

from collections import deque
from collections.abc import Sequence
from itertools import islice

from ktms.domain.access.usage_event import UsageEvent

EVENTS_MAX = 10_000
"""What a gateway may hold while nobody takes events (failures: FL1): some 10 MB, and minutes of traffic."""


class MemoryUsageSpool:
    """Implements the `Spool` port; where all that it may hold is lent, the new event is the one that is lost."""

    def __init__(self, events_max: int = EVENTS_MAX) -> None:
        assert events_max > 0, "a spool holds something"
        self._events_max = events_max
        self._lent = 0
        self._closed = False
        self.events: deque[UsageEvent] = deque()
        self.lost_total = 0

    @property
    def depth(self) -> int:
        """How many events wait."""
        return len(self.events)

    def put(self, event: UsageEvent) -> None:
        """Take one event."""
        if self._closed or len(self.events) >= self._events_max:
            self.lost_total += 1
            if self._closed or self._lent == len(self.events):
                return
            del self.events[self._lent]
        self.events.append(event)

    def oldest(self, count_max: int) -> Sequence[UsageEvent]:
        """Lend the oldest."""
        self._lent = max(self._lent, min(count_max, len(self.events)))
        return tuple(islice(self.events, count_max))

    def forget(self, count: int) -> None:
        """Forget the oldest."""
        assert count <= self._lent, "only what was lent is forgotten"
        for _ in range(count):
            self.events.popleft()
        self._lent -= count

    def close(self) -> None:
        """Count what is left as lost."""
        if not self._closed:
            self._closed = True
            self.lost_total += len(self.events)
