"""FP10 and S09: somebody holds the table of keys, so every connection of a replica waits there, and none is free.

What needs one waits within its bound and then does as if the database were away: known keys work and do not wait,
others get 503, catalogue and news wait their turn. The moment the table is free all keys verify.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import CallDraft, Draft, KeyDraft, Knobs
from sim.journal.calls import Call
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.outage import (
    KNOWN,
    TAIL_S,
    Outage,
    at,
    call_of,
    draw_replicas,
    scattered,
    warm_up,
    world_of,
)
from sim.scenarios.books.reading import (
    BLINK_S,
    EDGE_S,
    FRESH_S,
    LOOKUP_S,
    Books,
    answered,
    key_of,
    refused_with,
)
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

LOCKED = "keys_locked"

CONNECTIONS_MAX = 24
"""Of one replica, as documented: 25, one of which hears news."""

OTHERS = 60
"""Keys that nobody used before: more than there are connections, each look-up needs one of its own."""

VERIFIES_S = 2.0
"""Keys verify within this once the table is free."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    outage = Outage(LOCKED, at(chance, 10.0, 14.0), at(chance, 25.0, 45.0))
    felt = (outage.starts_s + FRESH_S + LOOKUP_S + EDGE_S, outage.ends_s - LOOKUP_S - EDGE_S)
    calls = [*warm_up(chance, replicas, outage.starts_s - EDGE_S), *scattered(chance, replicas, KNOWN, felt, 8)]
    for gateway in range(replicas):
        calls += _crowd(chance, gateway, at(chance, felt[0], felt[1] - 3 * LOOKUP_S), outage.ends_s)
    draft = world_of(chance, replicas, outage, calls, Knobs(poll_s=1.0))
    keys = (*draft.keys, *(KeyDraft(_name(number)) for number in range(OTHERS)))
    return replace(draft, keys=keys, runs_s=outage.ends_s + TAIL_S)


def _name(number: int) -> str:
    return f"other-{number:02}"


def _crowd(chance: Chance, gateway: int, at_s: float, ends_s: float) -> Iterator[CallDraft]:
    """Let every other key be used at once, again when that was in vain, and once more when the table is free."""
    for number in range(OTHERS):
        yield call_of(chance, at(chance, at_s, at_s + 0.5), _name(number), gateway)
        yield call_of(chance, at(chance, at_s + LOOKUP_S, at_s + LOOKUP_S + 0.5), _name(number), gateway)
        yield call_of(chance, at(chance, ends_s + VERIFIES_S, ends_s + VERIFIES_S + 4.0), _name(number), gateway)


def _seen(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    locks = books.watch.fault_spans(LOCKED)
    if locks and all(
        _was_full(books, lock, host)
        and _bounded(books, lock, host)
        and _known_ones_do_not_wait(books, lock, host)
        and _stays_ready(books, lock, host)
        and _is_back(books, lock.end, host)
        for lock in locks
        for host in books.hosts
    ):
        yield "FP10"
        yield "S09"


def _was_full(books: Books, lock: Span, host: str) -> bool:
    """Tell whether look-ups, and other questions beside them, found every connection in use."""
    full = [
        fact for fact in books.journal.of("places_full") if fact.host == host and lock.start < fact.at < lock.end
    ]
    in_use = [fact.number("in_use") for fact in full]  # one less where a free one is being handed on
    return {"find"} < {fact.text("operation") for fact in full} and max(in_use) == CONNECTIONS_MAX


def _bounded(books: Books, lock: Span, host: str) -> bool:
    """Tell whether all keys that nobody knew were refused as keys that cannot be told, after 3 s at most."""
    calls = [call for call in _during(books, lock, host) if key_of(call) not in KNOWN]
    return (
        len({key_of(call) for call in calls}) == OTHERS
        and all(refused_with(call, "auth_unavailable", retry=True) for call in calls)
        and not any(books.watch.asked(call) for call in calls)
        and LOOKUP_S - BLINK_S <= max(books.waited_s(call) for call in calls) <= LOOKUP_S + BLINK_S
    )


def _known_ones_do_not_wait(books: Books, lock: Span, host: str) -> bool:
    calls = [call for call in _during(books, lock, host) if key_of(call) in KNOWN]
    return bool(calls) and all(answered(call) and books.waited_s(call) < LOOKUP_S / 10 for call in calls)


def _during(books: Books, lock: Span, host: str) -> list[Call]:
    since = lock.start + FRESH_S + LOOKUP_S
    return [call for call in books.sent(since, lock.end - LOOKUP_S) if call.gateway == host]


def _stays_ready(books: Books, lock: Span, host: str) -> bool:
    return all(fact.members["status"] == 200 for fact in _probes(books, lock.start, lock.end, host))


def _is_back(books: Books, free_at: float, host: str) -> bool:
    """Tell whether every key worked once the table was free, and the replica called itself sound again."""
    calls = [call for call in books.sent(free_at + VERIFIES_S, free_at + TAIL_S) if call.gateway == host]
    probes = _probes(books, free_at + LOOKUP_S + FRESH_S, free_at + TAIL_S, host)
    return (
        len(calls) >= OTHERS
        and all(answered(call) for call in calls)
        and bool(probes)
        and all(fact.members.get("state") == "ok" for fact in probes)
    )


def _probes(books: Books, since: float, until: float, host: str) -> list[Fact]:
    return books.told(host, since, until)


FULL_SCENARIOS = (Scenario("fp10-full", "every connection to Postgres is in use", ("FP10", "S09"), _draft, _seen),)
