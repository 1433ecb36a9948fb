"""What a journal tells of accounting: who recorded what and when, when the ledger had it, what was lost.

Only facts count, never what a draft intended. Not here: which behaviour is the documented one (the scenarios).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sim.checkers.i14_ledger import ids_of, recorded_in
from sim.journal.calls import Call
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.reading import BLINK_S, Books, answered

SEND_MAX_S = 5.0
"""One send in all."""

BACK_S = 7.0
"""From the ledger's return until all is sent: the longest pause, a send, a batch that gathers."""

KINDS = ("ledger_away", "ledger_hung", "ledger_slow", "ledger_repeating", "ledger_forgetful")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One usage event: when and where it was recorded, and when the ledger first had it (infinite: never)."""

    name: str
    host: str
    at: float
    kept_at: float


class Accounts:
    """A journal, as far as accounting goes."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.books = Books(journal)
        self.watch = self.books.watch
        self.kept = tuple(journal.of("usage_kept"))
        self.first_kept: dict[str, float] = {}
        for fact in self.kept:
            for name in ids_of(fact):
                self.first_kept.setdefault(name, fact.at)
        self.dropped = {name for fact in journal.of("usage_dropped") for name in ids_of(fact)}
        self.recorded = tuple(
            Recorded(name, fact.host, fact.at, self.first_kept.get(name, math.inf))
            for fact in recorded_in(self.watch, journal)
            for name in (fact.text("event_id"),)
        )

    def faults(self, *kinds: str) -> Sequence[Span]:
        """Give when something was wrong with the ledger."""
        return sorted(self.watch.fault_spans(*(kinds or KINDS)), key=lambda span: span.start)

    def recorded_in(self, span: Span) -> list[Recorded]:
        """Give what was recorded in a time."""
        return [event for event in self.recorded if span.start <= event.at < span.end]

    def sends_failed(self, span: Span, kind: str | None = None) -> list[Fact]:
        """Give the sends that failed in a time."""
        return [
            fact
            for fact in self.journal.of("dependency_failed")
            if fact.members["dependency"] == "ledger"
            and span.start <= fact.at <= span.end + SEND_MAX_S + BLINK_S
            and kind in (None, fact.members["failure"])
        ]

    def nobody_waits(self, span: Span) -> bool:
        """Whether calls came in this time, and every one was answered without waiting for the ledger."""
        calls = [*self.books.sent(span.start, span.end)]
        return bool(calls) and all(self._is_well(call) for call in calls)

    def _is_well(self, call: Call) -> bool:
        left = self.watch.host(call.gateway).disturbed(call.sent_at, call.over_at)
        return left or (answered(call) and self.books.waited_s(call) <= BLINK_S)

    def all_kept(self) -> bool:
        """Whether the ledger has every event that was recorded."""
        return all(event.kept_at < math.inf for event in self.recorded)

    def in_order(self) -> bool:
        """Whether each gateway's events came to the ledger in the order in which they were recorded."""
        last: dict[str, float] = {}
        for event in self.recorded:
            if event.kept_at < last.get(event.host, 0.0):
                return False
            if event.kept_at < math.inf:
                last[event.host] = event.kept_at
        return True

    def one_row_each(self) -> bool:
        """Whether the ledger has one row for each event that it ever got."""
        return bool(self.kept) and self.kept[-1].members["rows"] == len(self.first_kept)
