"""A ledger in memory, for tests and simulated worlds: what the real one keeps and tells, without a database.

It lives as long as one test or one world, so it has no bound but that of an answer.
"""

from collections.abc import Sequence

from ktms.adapters.memory.clock import LoopClock
from ktms.domain.access.pricing import micros_up
from ktms.domain.access.quota import Spent
from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.access.usage_report import ROWS_MAX, UsageQuery, UsageRow, UsageTooFine
from ktms.domain.access.usage_sums import (
    DAY_S,
    day_of,
    group_of,
    matches,
    month_of,
    with_event,
)
from ktms.domain.ids import EventId
from ktms.ports.clock import Clock
from ktms.ports.ledger import LedgerAway


class MemoryLedger:
    """Implements the ports Ledger and UsageReports. `away` names the failure while nobody answers."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or LoopClock()
        self._kept: dict[EventId, UsageEvent] = {}
        self.away: str | None = None

    def wall(self) -> float:
        """Give the ledger's own time."""
        return self._clock.wall()

    @property
    def events(self) -> list[UsageEvent]:
        """All events, in the order in which they first came."""
        return list(self._kept.values())

    async def send(self, events: Sequence[UsageEvent]) -> None:
        """Keep what is new."""
        self._answer()
        self.keep(events)

    def keep(self, events: Sequence[UsageEvent]) -> None:
        """Keep what is new, whoever asks."""
        for event in events:
            self._kept.setdefault(event.id, event)

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        """Add up what the question is about."""
        self._answer()
        rows: dict[tuple[str, ...], UsageRow] = {}
        for event in self._kept.values():
            if matches(query, event):
                group = group_of(event, query.by)
                rows[group] = with_event(rows.get(group, UsageRow(group)), event)
        if len(rows) > ROWS_MAX:
            raise UsageTooFine
        return [rows[group] for group in sorted(rows)]

    async def spent(self, accounts: Sequence[str]) -> Sequence[Spent]:
        """Add up today and this month."""
        self._answer()
        today = int(self.wall() // DAY_S)
        return [self._spent(account, today) for account in accounts]

    def _spent(self, account: str, today: int) -> Spent:
        kind, _, name = account.partition(":")
        mine = [
            (day_of(event), event.cost_picos)
            for event in self._kept.values()
            if (event.key_id if kind == "key" else event.tenant) == name
        ]
        return Spent(
            account,
            today,
            month_of(today),
            micros_up(sum(cost for day, cost in mine if day == today)),
            micros_up(sum(cost for day, cost in mine if month_of(day) == month_of(today))),
        )

    def _answer(self) -> None:
        if self.away is not None:
            raise LedgerAway(self.away)
