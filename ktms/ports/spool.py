"""Where usage events wait, in order, until the ledger has them."""

from collections.abc import Sequence
from typing import Protocol

from ktms.domain.access.usage_event import UsageEvent


class Spool(Protocol):
    """A bounded queue that never makes a call wait.

    One reader takes the oldest and forgets them once the ledger has them. For want of room the oldest are lost
    that are not lent; each loss is counted.
    """

    @property
    def depth(self) -> int:
        """How many events wait, lent ones included."""
        ...

    @property
    def lost_total(self) -> int:
        """How many were lost so far; it only grows."""
        ...

    def put(self, event: UsageEvent) -> None:
        """Take one event; never raises, never waits."""
        ...

    def oldest(self, count_max: int) -> Sequence[UsageEvent]:
        """Lend the oldest; empty only when none waits. Those lent before come first until they are forgotten."""
        ...

    def forget(self, count: int) -> None:
        """Forget so many of those lent, the oldest first."""
        ...

    def close(self) -> None:
        """Take no more; what only this process knows is counted as lost. Twice is harmless."""
        ...
