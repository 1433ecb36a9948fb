"""The ledger of the benchmark: keeps sums and no events, or its own growth would pass for the gateway's.

It lies in the gateway's process, behind the real outbox; what the way to a ledger elsewhere costs is measured by
`python -m tests.perf.ledger`.
"""

from collections import Counter
from collections.abc import Sequence

from ktms.domain.access.pricing import micros_up
from ktms.domain.access.quota import Spent
from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.access.usage_report import UsageQuery, UsageRow
from ktms.domain.access.usage_sums import day_of, month_of
from ktms.ports.clock import Clock

DAY_S = 86_400


class SumsOnly:
    """Implements the ports Ledger and UsageReports. `rows` counts the events of all accounts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._days: Counter[tuple[str, int]] = Counter()
        self._months: Counter[tuple[str, int]] = Counter()
        self.rows = 0

    async def send(self, events: Sequence[UsageEvent]) -> None:
        """Add up."""
        self.rows += len(events)
        for event in events:
            day = day_of(event)
            for account in (f"key:{event.key_id}", f"tenant:{event.tenant}"):
                self._days[account, day] += event.cost_picos
                self._months[account, month_of(day)] += event.cost_picos

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        """Nobody asks here."""
        raise NotImplementedError

    async def spent(self, accounts: Sequence[str]) -> Sequence[Spent]:
        """Give what accounts have spent today and this month."""
        day = int(self._clock.wall() // DAY_S)
        month = month_of(day)
        return [
            Spent(
                account,
                day,
                month,
                micros_up(self._days[account, day]),
                micros_up(self._months[account, month]),
            )
            for account in accounts
        ]
