"""Where usage events go."""

from typing import Protocol

from ktms.domain.access.usage_event import UsageEvent


class Ledger(Protocol):
    """Takes usage events; never makes a call wait."""

    def record(self, event: UsageEvent) -> None:
        """Take one event; never raises, never blocks; bounded, what does not fit is counted."""
        ...

    async def flush(self) -> None:
        """Hand on all that was taken, within the caller's deadline."""
        ...
