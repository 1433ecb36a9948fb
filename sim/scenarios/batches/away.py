"""FP5: while Postgres is away no batch is made and none is paid for twice; those under way go on afterwards."""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import BatchDraft, CallDraft, Draft, Knobs
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.scenarios.batches.reading import ended, whole
from sim.scenarios.books.outage import KNOWN, at, draw_outage, draw_replicas, warm_up, world_of
from sim.scenarios.books.reading import EDGE_S, LOOKUP_S, Books
from sim.scenarios.scenario import Scenario
from sim.seed import Seed


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    outage = draw_outage(chance, 20.0, 90.0)
    calls: list[CallDraft] = list(warm_up(chance, replicas, outage.starts_s - EDGE_S, KNOWN))
    drawn = world_of(chance, replicas, outage, calls, Knobs())
    early = at(chance, 0.5, outage.starts_s - 4.0)
    felt = at(chance, outage.starts_s + LOOKUP_S + EDGE_S, outage.ends_s - LOOKUP_S - 2 * EDGE_S)
    batches = tuple(
        BatchDraft(
            at_s=early,
            makes_at_s=moment,
            lines=chance.between(5, 40),
            tokens=chance.between(50, 200),
            key=chance.pick(KNOWN),
        )
        for moment in (early, felt)
    )
    return _with(drawn, batches)


def _with(drawn: Draft, batches: tuple[BatchDraft, ...]) -> Draft:
    return replace(drawn, batches=batches, runs_s=drawn.runs_s + 60.0)


def _active(journal: Journal) -> Iterator[str]:
    if any(fact.number("status") == 503 for fact in _asked_in_an_outage(journal)):
        yield "FP5"


def _seen(journal: Journal) -> Iterator[str]:
    """Show FP5: see the module."""
    over, asked = ended(journal), _asked_in_an_outage(journal)
    refused = [fact for fact in asked if fact.number("status") == 503]
    codes = {fact.text("code") for fact in refused}
    if (
        refused
        and codes <= {"idempotency_unavailable", "auth_unavailable", "store_unavailable"}
        and over
        and all(whole(journal, one) for one in over)
    ):
        yield "FP5"


def _asked_in_an_outage(journal: Journal) -> list[Fact]:
    outages = Books(journal).outages
    return [
        fact
        for fact in journal.of("batch_asked")
        if any(outage.start + LOOKUP_S <= fact.at <= outage.end for outage in outages)
    ]


AWAY = (
    Scenario(
        "fp5-batch",
        "no batch begins while Postgres is away, and those under way lose nothing",
        ("FP5",),
        _draft,
        _seen,
        _active,
    ),
)
