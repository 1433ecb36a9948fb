"""FP1 and FP2: Postgres is away; keys verified of late work on, all others are told that nobody can tell.

A key counts as verified when the journal has an answer of the database about it at that very replica.
"""

from collections.abc import Iterator

from sim.draft import Draft, Knobs
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.outage import (
    KNOWN,
    LATE,
    draw_outage,
    draw_replicas,
    scattered,
    warm_up,
    world_of,
)
from sim.scenarios.books.reading import EDGE_S, FRESH_S, LOOKUP_S, Books, answered, key_of, refused_with
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

LONG_S = FRESH_S + LOOKUP_S + EDGE_S
"""An outage must outlast what is fresh, or nothing of it is felt."""


def known_keys_work(books: Books, outages: list[Span]) -> bool:
    """Whether every replica answered calls of keys that only the window vouched for, and refused none of them."""
    long_ones = [outage for outage in outages if outage.end - outage.start > LONG_S]
    calls = [call for outage in long_ones for call in _vouched_for(books, outage)]
    return _at_every_host(books, calls) and all(
        answered(call) and _was_felt(books, call, outages) for call in calls
    )


def other_keys_get_503(books: Books, outages: list[Span]) -> bool:
    """Whether every replica refused real keys it had not verified, never as invalid, and started nothing."""
    calls = [call for outage in outages for call in _not_vouched_for(books, outage)]
    made = [call for call in calls if key_of(call) in books.key_ids]
    return _at_every_host(books, made) and all(
        refused_with(call, "auth_unavailable", retry=True) and not books.watch.asked(call) for call in calls
    )


def _vouched_for(books: Books, outage: Span) -> Iterator[Call]:
    for call in books.sent(outage.start + FRESH_S, outage.end):
        age_s = call.sent_at - books.verified_at(call.gateway, key_of(call), call.sent_at)
        if FRESH_S <= age_s < books.window_s - LOOKUP_S - EDGE_S:
            yield call


def _not_vouched_for(books: Books, outage: Span) -> Iterator[Call]:
    for call in books.sent(outage.start, outage.end - LOOKUP_S - EDGE_S):
        if call.sent_at - books.verified_at(call.gateway, key_of(call), call.over_at) > books.window_s + EDGE_S:
            yield call


def _was_felt(books: Books, call: Call, outages: list[Span]) -> bool:
    """Tell whether the replica had found out that the database does not answer when the call was over."""
    since = max(outage.start for outage in outages if outage.start <= call.sent_at)
    return books.failed_at(call.gateway, since) <= call.over_at


def _at_every_host(books: Books, calls: list[Call]) -> bool:
    return bool(books.hosts) and {call.gateway for call in calls} == set(books.hosts)


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    outage = draw_outage(chance, 25.0, 50.0)
    felt = (outage.starts_s + FRESH_S + EDGE_S, outage.ends_s - LOOKUP_S - EDGE_S)
    calls = [
        *warm_up(chance, replicas, outage.starts_s - EDGE_S),
        *scattered(chance, replicas, KNOWN, felt, chance.between(1, 4)),
        *scattered(chance, replicas, (*LATE, "stranger"), (outage.starts_s + 0.01, felt[1]), chance.between(1, 2)),
    ]
    knobs = Knobs(key_window_s=chance.pick((60.0, 300.0)), wall_offset_s=chance.pick((0.0, 5.0)))
    return world_of(chance, replicas, outage, calls, knobs)


def _seen_known(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    if known_keys_work(books, books.outages):
        yield "FP1"


def _seen_other(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    if other_keys_get_503(books, books.outages):
        yield "FP2"


KEY_SCENARIOS = (
    Scenario("fp1-known-keys", "verified keys work while Postgres is away", ("FP1",), _draft, _seen_known),
    Scenario("fp2-other-keys", "other keys get 503 while Postgres is away", ("FP2",), _draft, _seen_other),
)
