"""I15: each line of a batch has one result at most, is booked under one id, and nothing of a batch is lost.

A result is stored once, and by a claim that was made. Usage events of a line all have one id, so the ledger has
one row. No line is claimed once its client was told that the batch is cancelled. What a client reads in the end is
what was stored, each line once, and of a batch that is complete every line. Where nothing stood still, a line is
never with two targets at once.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from sim.checkers.violation import Violation
from sim.journal.calls import Exchange
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I15"
TITLE = "each line of a batch has one result and one row, and none is lost"

LINE = "batch"
"""Begins the name of a line as targets see it."""

SEEN_S = 0.05
"""A target hears a little later that it was left."""

Named = tuple[str, str]


def check(journal: Journal) -> Iterator[Violation]:
    """Find lines that are stored twice, booked twice, begun too late, asked twice at once, or lost."""
    watch = watch_of(journal)
    stored = [(fact, _line_of(fact)) for fact in journal.of("line_stored")]
    yield from _stored_once(stored)
    yield from _booked_once(journal)
    yield from _none_after_the_end(journal)
    yield from _as_stored(journal, {line for _, line in stored})
    yield from _never_at_once(watch)
    if "over" in watch.phases:
        over = {fact.text("name") for fact in journal.of("batch_over")}
        for fact in journal.of("batch_made"):
            if fact.text("name") not in over:
                yield Violation(CODE, fact.at, f"batch {fact.text('name')} never ended for its client")


def _line_of(fact: Fact) -> Named:
    return fact.text("batch"), str(fact.members["line"])


def _stored_once(stored: list[tuple[Fact, Named]]) -> Iterator[Violation]:
    seen: set[Named] = set()
    for fact, line in stored:
        if line in seen:
            yield Violation(CODE, fact.at, f"a second result of line {line[1]} of {line[0]} was stored")
        seen.add(line)


def _booked_once(journal: Journal) -> Iterator[Violation]:
    ids: dict[Named, str] = {}
    for fact in journal.of("usage"):
        if not fact.members.get("batch"):
            continue
        line, event = _line_of(fact), fact.text("event_id")
        if ids.setdefault(line, event) != event:
            yield Violation(CODE, fact.at, f"line {line[1]} of {line[0]} is booked under two ids")


def _none_after_the_end(journal: Journal) -> Iterator[Violation]:
    ends = {fact.text("batch"): fact.at for fact in journal.of("batch_cancelled") if fact.number("status") == 200}
    for fact in journal.of("line_claimed"):
        if fact.at > ends.get(fact.text("batch"), fact.at):
            yield Violation(CODE, fact.at, f"a line of {fact.text('batch')} began after its cancellation")


def _as_stored(journal: Journal, stored: set[Named]) -> Iterator[Violation]:
    for fact in journal.of("batch_over"):
        batch = fact.text("batch")
        found = [*fact.text("done").split(), *fact.text("errors").split()]
        if len(found) != len(set(found)):
            yield Violation(CODE, fact.at, f"{batch} has two results of one line")
        if fact.number("completed") + fact.number("failed") != len(found):
            yield Violation(CODE, fact.at, f"{batch} counts other results than it has")
        if {(batch, line) for line in found} != {line for line in stored if line[0] == batch}:
            yield Violation(CODE, fact.at, f"{batch} has other results than were stored")
        if fact.text("state") == "completed" and len(found) != fact.number("total"):
            yield Violation(CODE, fact.at, f"{batch} is complete and lacks results")


def _never_at_once(watch: Watch) -> Iterator[Violation]:
    by_line: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in watch.exchanges:
        if exchange.call.startswith(LINE):
            by_line[exchange.call].append(exchange)
    for line, exchanges in by_line.items():
        for before, after in pairwise(exchanges):
            told_at = watch.ends_at if before.told is None else before.told.at
            if told_at <= after.asked.at + SEEN_S or before.late or after.repeated:
                continue
            if not watch.host(before.gateway).disturbed(before.asked.at, told_at):
                what = f"{line} was asked of {after.target} while {before.target} still answered it"
                yield Violation(CODE, after.asked.at, what)
