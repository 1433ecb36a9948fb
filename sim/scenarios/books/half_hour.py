"""S08: Postgres is down for half an hour in traffic, and whoever keeps usage with it.

Known keys and the snapshot go on until the window ends, then every key gets 503: closed, not open. Usage events
wait within their bound, or are counted as lost. Afterwards all keys work, the newest snapshot is in force, and
what waited is in the ledger.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import Draft, Knobs
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.outage import (
    KNOWN,
    LATE,
    Outage,
    at,
    draw_replicas,
    scattered,
    warm_up,
    world_of,
)
from sim.scenarios.books.reading import (
    AWAY,
    BLINK_S,
    EDGE_S,
    FRESH_S,
    HUNG,
    LOOKUP_S,
    REVERIFY_MAX_S,
    Books,
    answered,
    key_of,
    refused_with,
)
from sim.scenarios.books.ready import is_closed, stays_degraded
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

HALF_HOUR_S = 1800.0

WINDOW_S = 300.0
"""The default: it is what half an hour is measured against."""

BACK_S = REVERIFY_MAX_S + LOOKUP_S
"""Snapshot, keys and readiness are back within this."""

CLOSED_MIN = 5
"""So many refusals at each replica make a closed door."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    outage = Outage(chance.pick((AWAY, HUNG)), at(chance, 8.0, 14.0), HALF_HOUR_S + at(chance, 0.0, 60.0))
    open_until = outage.starts_s + WINDOW_S - FRESH_S - LOOKUP_S
    closed = (outage.starts_s + WINDOW_S + 2 * EDGE_S, outage.ends_s - LOOKUP_S - EDGE_S)
    calls = [
        *warm_up(chance, replicas, outage.starts_s - EDGE_S),
        *scattered(chance, replicas, KNOWN, (outage.starts_s + FRESH_S + LOOKUP_S, open_until), 10),
        *scattered(chance, replicas, KNOWN, closed, 10),
        *scattered(chance, replicas, LATE, (outage.starts_s, outage.ends_s - LOOKUP_S - EDGE_S), 3),
        *scattered(chance, replicas, (*KNOWN, *LATE), (outage.ends_s + BACK_S, outage.ends_s + BACK_S + 5.0), 1),
    ]
    newer = Fault("new_catalogue", "", at(chance, outage.starts_s + EDGE_S, outage.ends_s - EDGE_S))
    ledger = Fault("ledger_away", "", outage.starts_s, outage.lasts_s)
    knobs = Knobs(key_window_s=WINDOW_S, poll_s=5.0, usage_events_max=chance.pick((5, 10_000)))
    draft = world_of(chance, replicas, outage, calls, knobs, (newer, ledger))
    return replace(draft, saved=chance.happens(0.5), spool=chance.happens(0.3))


def _long_ones(books: Books) -> list[Span]:
    return [outage for outage in books.outages if outage.end - outage.start >= HALF_HOUR_S]


def _active(journal: Journal) -> Iterator[str]:
    if _long_ones(Books(journal)):
        yield "S08"


def _seen(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    outages = _long_ones(books)
    if outages and all(
        _goes_on(books, outage, host)
        and stays_degraded(books, outage, host)
        and is_closed(books, outage, host)
        and _stays_closed(books, outage, host)
        and _waits_within_bound(books, outage, host)
        and _is_back(books, outage.end, host)
        for outage in outages
        for host in books.hosts
    ):
        yield "S08"


def _goes_on(books: Books, outage: Span, host: str) -> bool:
    """Tell whether known keys were answered while their window was open, and no call waited for the database."""
    since = outage.start + FRESH_S + LOOKUP_S
    until = books.answered_at(host, outage.start + BLINK_S) + WINDOW_S - LOOKUP_S
    calls = [call for call in books.sent(since, until) if call.gateway == host and key_of(call) in KNOWN]
    return bool(calls) and all(answered(call) and books.waited_s(call) < LOOKUP_S / 10 for call in calls)


def _stays_closed(books: Books, outage: Span, host: str) -> bool:
    """Tell whether nobody was let in for the rest of it, whatever key they had."""
    since = books.answered_at(host, outage.start + BLINK_S) + WINDOW_S + EDGE_S
    calls = [call for call in books.sent(since, outage.end - LOOKUP_S - EDGE_S) if call.gateway == host]
    return len(calls) >= CLOSED_MIN and all(
        refused_with(call, "auth_unavailable", retry=True) and not books.watch.asked(call) for call in calls
    )


def _waits_within_bound(books: Books, outage: Span, host: str) -> bool:
    """Tell whether usage events waited, and in memory never more than there is room for."""
    most = float("inf") if books.watch.text("spool") == "True" else books.watch.number("usage_events_max", 10_000)
    waiting = [fact.number("value") for fact in books.gauges("usage_waiting", host, outage.start, outage.end)]
    return bool(waiting) and 0 < max(waiting) <= most


def _is_back(books: Books, back_at: float, host: str) -> bool:
    """Tell whether keys, snapshot, readiness and ledger were well again in time."""
    stored = [fact.members["version"] for fact in books.journal.of("catalogue_applied") if fact.at < back_at]
    versions = books.gauges("snapshot_version", host, back_at, back_at + BACK_S)
    calls = [call for call in books.sent(back_at + BACK_S, back_at + BACK_S + 10.0) if call.gateway == host]
    probes = books.told(host, back_at + BACK_S, books.watch.phases.get("heal", 0.0))
    waiting = books.gauges("usage_waiting", host, back_at, books.watch.ends_at)
    return (
        bool(versions)
        and versions[-1].members["value"] == stored[-1]
        and {key_of(call) for call in calls} == {*KNOWN, *LATE}
        and all(answered(call) for call in calls)
        and bool(probes)
        and all(fact.members["status"] == 200 and fact.members.get("state") == "ok" for fact in probes)
        and bool(waiting)
        and waiting[-1].number("value") == 0
    )


HALF_HOUR_SCENARIOS = (
    Scenario("s08-half-hour", "Postgres is down for half an hour in traffic", ("S08",), _draft, _seen, _active),
)
