"""What a journal tells of batches: who was asked for lines and when, what clients found in the end."""

from collections import defaultdict
from collections.abc import Mapping

from sim.journal.calls import Exchange
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import watch_of

LINE = "batch"
"""Begins the name of a line as targets see it (`sim/actors/batch_client.py`)."""


def lines_asked(journal: Journal) -> Mapping[str, list[Exchange]]:
    """Give the requests at targets by the name of their line, each in order."""
    found: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in watch_of(journal).exchanges:
        if exchange.call.startswith(LINE):
            found[exchange.call].append(exchange)
    return found


def booked(journal: Journal) -> Mapping[tuple[str, str], set[str]]:
    """Give the ids of usage events by batch and line."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in journal.of("usage"):
        if fact.members.get("batch"):
            found[fact.text("batch"), str(fact.members["line"])].add(fact.text("event_id"))
    return found


def ended(journal: Journal) -> list[Fact]:
    """Give the batches whose clients have seen their end."""
    return list(journal.of("batch_over"))


def whole(journal: Journal, over: Fact) -> bool:
    """Whether a batch is complete: every line has its one result and was booked once."""
    wanted = [str(number) for number in range(1, int(over.number("total")) + 1)]
    usage = booked(journal)
    return (
        over.text("state") == "completed"
        and over.text("done").split() == wanted
        and not over.text("errors")
        and all(len(usage[over.text("batch"), line]) == 1 for line in wanted)
    )
