"""Usage events kept in memory: the embedded default until the accounting service takes them, and for tests."""

from collections import deque

from ktms.domain.access.usage_event import UsageEvent

EVENTS_MAX = 10_000
"""What the gateway may hold while nobody takes events (failures: FL1); beyond it the oldest is dropped."""


class MemoryLedger:
    """Keeps the newest events; counts what it had to drop."""

    def __init__(self, events_max: int = EVENTS_MAX) -> None:
        self.events: deque[UsageEvent] = deque(maxlen=events_max)
        self.dropped_total = 0

    def record(self, event: UsageEvent) -> None:
        """Take one event; the oldest makes room when all places are taken."""
        if len(self.events) == self.events.maxlen:
            self.dropped_total += 1
        self.events.append(event)

    async def flush(self) -> None:
        """Hand on nothing: there is nobody to hand it to."""
