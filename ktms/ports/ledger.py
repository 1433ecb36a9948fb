"""Where usage events end: the accounting service, or the gateway's own database where there is none."""

from collections.abc import Sequence
from typing import Protocol

from ktms.domain.access.usage_event import UsageEvent


class LedgerAway(Exception):
    """The ledger did not take or tell what was asked; `kind` is one word for the metric.

    away, timeout, refused (it has looked and does not want it), error. Whether a `send` took effect is unknown.
    """

    def __init__(self, kind: str = "away") -> None:
        super().__init__(f"the ledger does not answer: {kind}")
        self.kind = kind


class Ledger(Protocol):
    """Keeps usage events for good: each once, by its id, however often it comes and in whatever order."""

    async def send(self, events: Sequence[UsageEvent]) -> None:
        """Hand over all of these or none; returns when they are stored.

        Events that it has already are no error. The caller bounds the time, and may give up and send again.

        Raises:
            LedgerAway: it is not known whether they are stored.
        """
        ...
