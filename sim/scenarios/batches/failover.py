"""FP12: Postgres fails over again and again while files and batches are being made; nothing is half there.

A change whose answer is lost may have been made or not, and nobody can tell: whoever asked for it is told that it
failed, asks again, and in the end has each file, each batch and each line once and whole.
That a transaction itself is stored whole or not at all is Postgres' doing: it is shown on a real one (tests).
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from sim.draft import BatchDraft, Draft, Knobs
from sim.faults.plan import Fault
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.scenarios.batches.reading import ended, whole
from sim.scenarios.books.outage import KNOWN, Outage, at, draw_replicas, scattered, warm_up, world_of
from sim.scenarios.books.reading import FRESH_S, Books, answered
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

FAILOVER, SLOW = "postgres_failover", "postgres_slow"

FAILOVERS = 20
EVERY_S = 3.0
"""A batch is made in less time than lies between two, and in more than one of them lasts."""

BATCHES = 20

CHANGES = frozenset({"begin_file", "append_file", "finish_file", "create_batch", "add_lines", "finish_line"})
"""What of all that is asked of the database writes something for a batch."""

ANSWERED_S = 1.0
"""Who asked for a change is told of its failure within this."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    first_s = at(chance, 8.0, 10.0)
    ends_s = first_s + FAILOVERS * EVERY_S
    slow = Outage(SLOW, first_s - 1.0, ends_s - first_s + 1.0)
    failovers = [
        Fault(FAILOVER, "", at(chance, first_s + number * EVERY_S, first_s + number * EVERY_S + 1.0), 0.5)
        for number in range(FAILOVERS)
    ]
    calls = [
        *warm_up(chance, replicas, first_s - 2.0),
        *scattered(chance, replicas, KNOWN, (first_s, ends_s), chance.between(2, 5)),
    ]
    draft = world_of(chance, replicas, slow, calls, Knobs(), failovers)
    batches = tuple(_batch(chance, at(chance, first_s, ends_s - EVERY_S)) for _ in range(BATCHES))
    faults = tuple(replace(one, amount=0.4) if one.kind == SLOW else one for one in draft.faults)
    return replace(draft, batches=batches, faults=faults, runs_s=ends_s + 60.0)


def _batch(chance: Chance, at_s: float) -> BatchDraft:
    lines, tokens = chance.between(1, 4), chance.between(5, 30)
    return BatchDraft(at_s=at_s, lines=lines, tokens=tokens, key=chance.pick(KNOWN))


def _lost(journal: Journal) -> list[Fact]:
    """Give the changes whose answers were lost in a failover."""
    spans = Books(journal).watch.fault_spans(FAILOVER)
    return [
        fact
        for fact in journal.of("answer_lost")
        if fact.text("operation") in CHANGES and any(span.start <= fact.at <= span.end for span in spans)
    ]


def _seen(journal: Journal) -> Iterator[str]:
    books, lost, over = Books(journal), _lost(journal), ended(journal)
    if (
        {fact.has("took_effect") for fact in lost} == {True, False}
        and all(_is_told(books, fact) for fact in lost if fact.text("operation") == "create_batch")
        and len(over) == BATCHES
        and all(whole(journal, one) for one in over)
        and _each_once(journal)
        and _calls_go_on(books)
    ):
        yield "FP12"


def _is_told(books: Books, lost: Fact) -> bool:
    """Tell whether the client whose batch was being made was told that it failed."""
    return any(
        fact.number("status") == 503 and fact.text("gateway") == lost.host
        for fact in books.journal.of("batch_asked")
        if lost.at <= fact.at <= lost.at + ANSWERED_S
    )


def _each_once(journal: Journal) -> bool:
    """Tell whether each client has one batch, and no line was stored of any other."""
    made: dict[str, set[str]] = defaultdict(set)
    for fact in journal.of("batch_made"):
        made[fact.text("name")].add(fact.text("batch"))
    stored = {fact.text("batch") for fact in journal.of("line_stored")}
    known = {one for found in made.values() for one in found}
    return stored == known and len(known) == len(made)


def _calls_go_on(books: Books) -> bool:
    spans = books.watch.fault_spans(FAILOVER)
    calls = [*books.sent(spans[0].start, spans[-1].end + FRESH_S)]
    return bool(calls) and all(answered(call) for call in calls)


FAILOVER_SCENARIOS = (
    Scenario(
        "fp12-failover",
        "Postgres fails over while batches are being made",
        ("FP12",),
        _draft,
        _seen,
    ),
)
