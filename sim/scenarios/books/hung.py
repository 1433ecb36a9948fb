"""FP3: Postgres takes every question and answers none; a verification ends within 3 s, one per key at a time."""

from collections.abc import Iterator
from itertools import pairwise

from sim.draft import CallDraft, Draft, Knobs
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.keys import known_keys_work, other_keys_get_503
from sim.scenarios.books.outage import (
    KNOWN,
    LATE,
    at,
    call_of,
    draw_outage,
    draw_replicas,
    scattered,
    warm_up,
    world_of,
)
from sim.scenarios.books.reading import (
    BLINK_S,
    EDGE_S,
    FRESH_S,
    HUNG,
    LOOKUP_S,
    Asking,
    Books,
    key_of,
)
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

WAITERS_MIN = 3
"""So many calls must have shared one look-up before it is called shared."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    outage = draw_outage(chance, 28.0, 45.0, (HUNG,))
    felt = (outage.starts_s + FRESH_S + EDGE_S, outage.ends_s - 2 * LOOKUP_S - EDGE_S)
    calls = [
        *warm_up(chance, replicas, outage.starts_s - EDGE_S),
        *scattered(chance, replicas, (*KNOWN, "stranger"), felt, chance.between(0, 2)),
    ]
    for gateway in range(replicas):
        calls += _burst(chance, at(chance, *felt), chance.pick(KNOWN), gateway)
        calls += _burst(chance, at(chance, outage.starts_s + EDGE_S, felt[1]), chance.pick(LATE), gateway)
    return world_of(chance, replicas, outage, calls, Knobs(key_window_s=chance.pick((60.0, 300.0))))


def _burst(chance: Chance, at_s: float, key: str, gateway: int) -> Iterator[CallDraft]:
    """Let one key be used many times while its look-up hangs."""
    yield call_of(chance, at_s, key, gateway)
    for _ in range(chance.between(2 * WAITERS_MIN, 12)):
        yield call_of(chance, at(chance, at_s, at_s + LOOKUP_S / 2), key, gateway)


def _seen(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    if (
        _bounded(books)
        and _known_ones_do_not_wait(books)
        and _single_flight(books)
        and known_keys_work(books, books.hangs)
        and other_keys_get_503(books, books.hangs)
    ):
        yield "FP3"


def _bounded(books: Books) -> bool:
    """Tell whether verifications lasted up to 3 s, and no call waited longer for one."""
    waits = [
        books.waited_s(call)
        for hang in books.hangs
        for call in books.sent(hang.start, hang.end - LOOKUP_S - EDGE_S)
    ]
    return bool(waits) and LOOKUP_S - BLINK_S <= max(waits) <= LOOKUP_S + BLINK_S


def _known_ones_do_not_wait(books: Books) -> bool:
    """Tell whether a key within its window was answered at once, as soon as it was known that nobody answers."""
    calls = [
        call
        for hang in books.hangs
        for call in books.sent(hang.start + FRESH_S + LOOKUP_S, hang.end)
        if key_of(call) in KNOWN
    ]
    return bool(calls) and all(books.waited_s(call) < LOOKUP_S / 10 for call in calls)


def _single_flight(books: Books) -> bool:
    """Tell whether look-ups of one key never overlapped, and some of them had many waiters."""
    shared = False
    for hang in books.hangs:
        for (host, name), lookups in _lookups(books, hang).items():
            if any(later.at - earlier.at < LOOKUP_S - BLINK_S for earlier, later in pairwise(lookups)):
                return False
            calls = [call for call in books.sent(hang.start, hang.end) if call.gateway == host]
            for lookup in lookups:
                waiters = [call for call in calls if _waited_for(books, call, name, lookup)]
                shared = shared or len(waiters) >= WAITERS_MIN
    return shared


def _lookups(books: Books, hang: Span) -> dict[tuple[str, str], list[Asking]]:
    """Give the questions about one key alone that ran out of time, by replica and key."""
    found: dict[tuple[str, str], list[Asking]] = {}
    for asking in books.askings:
        if hang.start + LOOKUP_S <= asking.at <= hang.end and asking.answer == "hung" and len(asking.ids) == 1:
            found.setdefault((asking.host, asking.ids[0]), []).append(asking)
    return found


def _waited_for(books: Books, call: Call, name: str, lookup: Asking) -> bool:
    asked_at = lookup.at - LOOKUP_S
    mine = books.key_ids.get(key_of(call)) == name
    return mine and asked_at - BLINK_S <= call.sent_at < lookup.at <= call.over_at


HUNG_SCENARIOS = (
    Scenario("fp3-hung", "a verification takes 3 s at most and is shared, Postgres hung", ("FP3",), _draft, _seen),
)
