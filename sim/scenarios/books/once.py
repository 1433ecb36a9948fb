"""FP5: a call with an Idempotency-Key is refused while none can be verified; nothing is started or paid for it.

Before and after an outage such calls are answered. Whose key cannot be verified is told that instead.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import CallDraft, Draft, Knobs, Manner
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.scenarios.books.outage import KNOWN, LATE, draw_outage, draw_replicas, scattered, warm_up, world_of
from sim.scenarios.books.reading import EDGE_S, LOOKUP_S, Books, answered, key_of, refused_with
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    outage = draw_outage(chance, 12.0, 40.0)
    felt = (outage.starts_s + 0.01, outage.ends_s - LOOKUP_S - EDGE_S)
    keys = (*KNOWN, chance.pick(LATE), "stranger")
    once = [
        _sent_once(chance, call)
        for call in (
            *scattered(chance, replicas, keys, felt, chance.between(1, 3)),
            *scattered(chance, replicas, keys, (0.5, outage.ends_s + EDGE_S), 1),
        )
    ]
    calls = [
        *warm_up(chance, replicas, outage.starts_s - EDGE_S),
        *scattered(chance, replicas, KNOWN, felt, 1),
        *once,
    ]
    return world_of(chance, replicas, outage, calls, Knobs())


def _sent_once(chance: Chance, call: CallDraft) -> CallDraft:
    """Send it with an Idempotency-Key, and now and then again when it was refused, as libraries do."""
    if chance.happens(0.3):
        call = replace(call, manner=Manner.RETRIES, after=chance.between(1, 3))
    return replace(call, once=True)


def _is_once(call: Call) -> bool:
    return bool(call.sents) and call.sents[0].has("once")


def _in_an_outage(books: Books) -> list[Call]:
    return [call for outage in books.outages for call in books.sent(outage.start, outage.end) if _is_once(call)]


def _active(journal: Journal) -> Iterator[str]:
    if _in_an_outage(Books(journal)):
        yield "FP5"


def _seen(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    once = [call for call in _in_an_outage(books) if call.over_at < books.outages[0].end]
    known = [call for call in once if key_of(call) in KNOWN]
    if (
        {call.gateway for call in known} == set(books.hosts) != set()
        and all(refused_with(call, "idempotency_unavailable", retry=True) for call in known)
        and all(_is_free(books, call) for call in once)
        and any(answered(call) for call in books.watch.calls.values())
    ):
        yield "FP5"


def _is_free(books: Books, call: Call) -> bool:
    return (
        call.outcome == "error"
        and not books.watch.asked_for.get(call.name)
        and call.request_id != ""
        and not books.watch.usages.get(call.request_id)
    )


ONCE_SCENARIOS = (
    Scenario(
        "fp5-idempotency",
        "a call with an Idempotency-Key is refused and nothing is started",
        ("FP5",),
        _draft,
        _seen,
        _active,
    ),
)
