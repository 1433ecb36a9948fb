"""FP4 and S30: the last good snapshot stays, while Postgres is away and when a newer one does not compile."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from sim.draft import Draft, Knobs
from sim.faults.plan import Fault
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.outage import (
    KNOWN,
    TAIL_S,
    at,
    draw_outage,
    draw_replicas,
    scattered,
    warm_up,
    world_of,
)
from sim.scenarios.books.reading import AWAY, BLINK_S, EDGE_S, LOOKUP_S, Books, answered
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

POLL_MAX_S = 6.5
"""A newer version is in force within this on every replica: a poll every 5 s, a fifth more at most."""

AGES_MIN = 3
"""So many growing ages make a clock."""


def _stale(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    outage = draw_outage(chance, 30.0, 60.0)
    calls = [
        *warm_up(chance, replicas, outage.starts_s - EDGE_S),
        *scattered(chance, replicas, KNOWN, (outage.starts_s, outage.ends_s - LOOKUP_S), chance.between(1, 4)),
    ]
    newer = Fault("new_catalogue", "", at(chance, outage.starts_s + EDGE_S, outage.ends_s - EDGE_S))
    return world_of(chance, replicas, outage, calls, Knobs(), (newer,))


def _seen_stale(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    if books.outages and all(_stays(books, outage, host) for outage in books.outages for host in books.hosts):
        yield "FP4"


def _stays(books: Books, outage: Span, host: str) -> bool:
    """Tell whether one replica kept its snapshot although there was a newer one, said its age, and answered."""
    since = outage.start + BLINK_S
    newer = [fact for fact in books.journal.of("catalogue_applied") if outage.start < fact.at < outage.end]
    swapped = books.gauges("snapshot_version", host, since, outage.end)
    calls = [call for call in books.sent(outage.start, outage.end - LOOKUP_S) if call.gateway == host]
    return (
        bool(newer)
        and not swapped
        and _grows(books.gauges("snapshot_age_s", host, since, outage.end), outage)
        and any(books.watch.asked(call) for call in calls)
        and all(answered(call) for call in calls)
    )


def _grows(ages: list[Fact], outage: Span) -> bool:
    values = [fact.number("value") for fact in ages]
    return (
        len(values) >= AGES_MIN
        and all(later > earlier for earlier, later in pairwise(values))
        and all(value >= fact.at - outage.start - BLINK_S for fact, value in zip(ages, values, strict=True))
    )


def _spoilt(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    outage = draw_outage(chance, 0.5, 2.0, (AWAY,))  # no part of the proof: a feed that was lost must not matter
    bad_s = at(chance, 6.0, 20.0)
    good_s = bad_s + at(chance, POLL_MAX_S + 2.0, 25.0)
    runs_s = good_s + TAIL_S
    calls = [
        *warm_up(chance, replicas, 5.0),
        *scattered(chance, replicas, KNOWN, (bad_s, runs_s - TAIL_S / 2), chance.between(2, 8)),
    ]
    faults = (Fault("bad_catalogue", "", bad_s), Fault("new_catalogue", "", good_s))
    draft = world_of(chance, replicas, outage, calls, Knobs(), faults)
    if chance.happens(0.5):
        draft = replace(draft, faults=tuple(fault for fault in draft.faults if fault != outage.fault))
    return replace(draft, runs_s=runs_s)


def _applied(books: Books) -> Iterator[tuple[Fact, Fact]]:
    """Give each bad version with the good one that came after it, both while faults were on."""
    bad = None
    for fact in books.journal.of("catalogue_applied"):
        if not fact.has("valid"):
            bad = fact
        elif bad is not None and fact.at < books.watch.phases.get("heal", 0.0):
            yield bad, fact
            bad = None


def _active_spoilt(journal: Journal) -> Iterator[str]:
    if journal.has("catalogue_applied", valid=False):
        yield "S30"


def _seen_spoilt(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    pairs = [*_applied(books)]
    if pairs and all(_refused_whole(books, bad, good, host) for bad, good in pairs for host in books.hosts):
        yield "S30"


def _refused_whole(books: Books, bad: Fact, good: Fact, host: str) -> bool:
    """Tell whether one replica said so, kept what it had, answered, and took the good version in time."""
    said = [
        fact
        for fact in books.journal.of("log")
        if fact.host == host and fact.members["name"] == "snapshot_refused" and bad.at <= fact.at < good.at
    ]
    versions = books.gauges("snapshot_version", host, bad.at, books.watch.ends_at)
    taken = [fact for fact in versions if fact.at < good.at + POLL_MAX_S]
    calls = [call for call in books.sent(bad.at, good.at + POLL_MAX_S) if call.gateway == host]
    return (
        any(fact.members["level"] == "error" for fact in said)
        and all(fact.members["value"] != bad.members["version"] for fact in versions)
        and [fact.members["value"] for fact in taken] == [good.members["version"]]
        and taken[0].at >= good.at
        and bool(calls)
        and all(answered(call) for call in calls)
    )


SNAPSHOT_SCENARIOS = (
    Scenario("fp4-snapshot", "the last snapshot stays while Postgres is away", ("FP4",), _stale, _seen_stale),
    Scenario(
        "s30-bad-catalogue",
        "a catalogue that does not compile is refused whole",
        ("S30",),
        _spoilt,
        _seen_spoilt,
        _active_spoilt,
    ),
)
