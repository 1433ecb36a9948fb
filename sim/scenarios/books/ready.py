"""FP6 and FP7: a replica without Postgres is ready, degraded, while its window of known keys is open; then not."""

from collections.abc import Iterator

from sim.draft import Draft, Knobs
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.outage import KNOWN, draw_outage, draw_replicas, scattered, warm_up, world_of
from sim.scenarios.books.reading import (
    BLINK_S,
    EDGE_S,
    LOOKUP_S,
    REVERIFY_MAX_S,
    Books,
    key_of,
    refused_with,
)
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

PROBES_MIN = 2
"""One probe may be luck."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    window_s = chance.pick((30.0, 60.0, 300.0))
    outage = draw_outage(chance, window_s + 15.0, window_s + 40.0)
    closes_s = outage.starts_s + window_s + EDGE_S
    calls = [
        *warm_up(chance, replicas, outage.starts_s - EDGE_S),
        *scattered(chance, replicas, KNOWN, (outage.starts_s, closes_s), chance.between(1, 4)),
        *scattered(chance, replicas, KNOWN, (closes_s + EDGE_S, outage.ends_s - LOOKUP_S - EDGE_S), 2),
    ]
    knobs = Knobs(
        key_window_s=window_s,
        poll_s=chance.pick((0.7, 2.0, 5.0)),
        wall_offset_s=chance.pick((0.0, -5.0)),
        drift=chance.pick((0.0, 0.0002)),
    )
    return world_of(chance, replicas, outage, calls, knobs)


def _closes_at(books: Books, host: str, outage: Span) -> float:
    """Give when the window of a replica closes: so long after the last answer before the database was lost."""
    return books.answered_at(host, outage.start + BLINK_S) + books.window_s


def _is_degraded(fact: Fact) -> bool:
    return (
        fact.members["status"] == 200
        and fact.members.get("state") == "degraded"
        and "postgres_away" in fact.text("reasons").split()
    )


def _is_unready(fact: Fact) -> bool:
    return (
        fact.members["status"] == 503
        and fact.members.get("state") == "unready"
        and "key_window_closed" in fact.text("reasons").split()
    )


def _seen_degraded(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    if books.outages and all(stays_degraded(books, one, host) for one in books.outages for host in books.hosts):
        yield "FP6"


def stays_degraded(books: Books, outage: Span, host: str) -> bool:
    """Tell whether one replica stayed ready throughout, and said degraded from when it knew."""
    closes_at = min(_closes_at(books, host, outage), outage.end) - BLINK_S
    knew_at = books.failed_at(host, outage.start)
    probes = books.told(host, knew_at + BLINK_S, closes_at)
    return (
        knew_at <= outage.start + REVERIFY_MAX_S + LOOKUP_S
        and all(fact.members["status"] == 200 for fact in books.told(host, outage.start, closes_at))
        and len(probes) >= PROBES_MIN
        and all(_is_degraded(fact) for fact in probes)
    )


def _seen_closed(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    if books.outages and all(is_closed(books, one, host) for one in books.outages for host in books.hosts):
        yield "FP7"


def is_closed(books: Books, outage: Span, host: str) -> bool:
    """Tell whether one replica was unready after its window, and no key counted there any more."""
    closes_at = _closes_at(books, host, outage)
    before = books.told(host, outage.start, closes_at - BLINK_S)
    after = books.told(host, closes_at + BLINK_S, outage.end)
    calls = [
        call
        for call in books.sent(closes_at + EDGE_S, outage.end - LOOKUP_S - EDGE_S)
        if call.gateway == host and key_of(call) in books.key_ids
    ]
    return (
        len(after) >= PROBES_MIN
        and all(_is_unready(fact) for fact in after)
        and any(fact.has("ready") for fact in before)
        and bool(calls)
        and all(refused_with(call, "auth_unavailable", retry=True) for call in calls)
    )


READY_SCENARIOS = (
    Scenario("fp6-degraded", "ready and degraded while known keys count", ("FP6",), _draft, _seen_degraded),
    Scenario("fp7-unready", "unready once the window of known keys is closed", ("FP7",), _draft, _seen_closed),
)
