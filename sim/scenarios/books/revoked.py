"""FP11 and S29: a key is revoked in traffic and no replica is told; with Postgres there, and with it away.

With it: refused within 10 s everywhere. Without: at the latest when its window ends, also at a replica that was
started again with a saved snapshot meanwhile. Others' calls, and answers under way, do not notice; a key that is
new to a replica works at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sim.draft import CallDraft, Draft, Knobs
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.outage import (
    KNOWN,
    LATE,
    TAIL_S,
    Outage,
    at,
    call_of,
    draw_outage,
    draw_replicas,
    scattered,
    world_of,
)
from sim.scenarios.books.reading import (
    AWAY,
    BLINK_S,
    EDGE_S,
    FRESH_S,
    LOOKUP_S,
    REVERIFY_MAX_S,
    Books,
    answered,
    key_of,
    refused_with,
)
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

DOOMED, NEW = LATE[-1], LATE[0]
"""What operators of a world revoke is its last key; the other one nobody used before."""

EVERY_S = 1.0
"""How often the key is used at each replica."""

LONG_TOKENS = 400
"""An answer that is under way for some ten seconds."""

RESTART_S = 10.0


def _heard_by_nobody(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    revoked_s = at(chance, 12.0, 25.0)
    blip = Outage(AWAY, at(chance, 1.0, 4.0), 0.5)  # no part of the proof: a feed that was lost must not matter
    ends_s = revoked_s + FRESH_S + 20.0
    calls = [
        *_steady(chance, replicas, DOOMED, (6.0, ends_s)),
        *_long(chance, replicas, revoked_s),
        *scattered(chance, replicas, KNOWN, (6.0, ends_s), 6),
        *scattered(chance, replicas, (NEW,), (revoked_s, ends_s), 2),
    ]
    draft = world_of(chance, replicas, blip, calls, Knobs(), (Fault("revoke_key_unheard", "", revoked_s),))
    faults = draft.faults if chance.happens(0.5) else tuple(one for one in draft.faults if one != blip.fault)
    return replace(draft, faults=faults, runs_s=ends_s + TAIL_S)


def _while_away(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    window_s = chance.pick((60.0, 120.0, 300.0))
    outage = draw_outage(chance, window_s + 40.0, window_s + 60.0)
    outage = replace(outage, starts_s=outage.starts_s + FRESH_S)
    revoked_s = at(chance, outage.starts_s + EDGE_S, outage.starts_s + 20.0)
    calls = [
        *_steady(chance, replicas, DOOMED, (1.0, outage.ends_s + TAIL_S - EDGE_S)),
        *scattered(chance, replicas, KNOWN, (1.0, outage.starts_s), 3),
    ]
    restarts = [
        Fault("crash", f"gw{gateway + 1}", at(chance, revoked_s + EDGE_S, revoked_s + 10.0), RESTART_S)
        for gateway in range(replicas)
        if chance.happens(0.5)
    ]
    faults = (Fault("revoke_key_unheard", "", revoked_s), *restarts)
    draft = world_of(chance, replicas, outage, calls, Knobs(key_window_s=window_s), faults)
    return replace(draft, saved=chance.happens(0.7))


def _steady(chance: Chance, replicas: int, key: str, span: tuple[float, float]) -> Iterator[CallDraft]:
    for gateway in range(replicas):
        at_s = span[0] + chance.uniform(0.0, EVERY_S)
        while at_s < span[1]:
            yield replace(call_of(chance, round(at_s, 3), key, gateway), tokens=chance.between(1, 5))
            at_s += EVERY_S


def _long(chance: Chance, replicas: int, revoked_s: float) -> Iterator[CallDraft]:
    """Let an answer to the key be under way at each replica when it is revoked, and for long after that."""
    for gateway in range(replicas):
        at_s = at(chance, revoked_s - 2.0, revoked_s - 1.0)
        yield CallDraft(at_s=at_s, key=DOOMED, gateway=gateway, streamed=True, tokens=LONG_TOKENS)


def _revoked(books: Books) -> list[Fact]:
    return [fact for fact in books.journal.of("key_revoked") if not fact.has("heard")]


def _active(journal: Journal) -> Iterator[str]:
    if _revoked(Books(journal)):
        yield "FP11"
        yield "S29"


def _seen_there(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    revoked = _revoked(books)
    if revoked and all(_ends_in_time(books, revoked[0].at, host) for host in books.hosts):
        yield "FP11"
        yield "S29"


def _ends_in_time(books: Books, revoked_at: float, host: str) -> bool:
    """Tell whether one replica let the key in before, refused it as invalid in time, and nobody else noticed."""
    mine = _calls(books, host, 0.0, books.watch.phases.get("heal", 0.0))
    doomed = [call for call in mine if key_of(call) == DOOMED]
    before = [call for call in doomed if call.over_at < revoked_at]
    after = [call for call in doomed if call.sent_at > revoked_at + FRESH_S + BLINK_S]
    under_way = [call for call in doomed if call.sent_at < revoked_at and call.over_at > revoked_at + FRESH_S / 2]
    others = [call for call in mine if key_of(call) != DOOMED]
    return (
        bool(before)
        and all(answered(call) for call in (*before, *under_way, *others))
        and bool(under_way)
        and {NEW, *KNOWN} == {key_of(call) for call in others}
        and bool(after)
        and all(_is_invalid(books, call) for call in after)
    )


def _seen_away(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    revoked = _revoked(books)
    outages = [one for one in books.outages if any(one.start < fact.at < one.end for fact in revoked)]
    if outages and all(_dies_with_its_window(books, outages[0], revoked[0].at, host) for host in books.hosts):
        yield "FP11"
        yield "S29"


def _dies_with_its_window(books: Books, outage: Span, revoked_at: float, host: str) -> bool:
    """Tell whether the key worked on at one replica, ended with its window, and was invalid once that was told."""
    dead_at = books.verified_at(host, DOOMED, outage.start + BLINK_S) + books.window_s
    doomed = [call for call in _calls(books, host, revoked_at, books.watch.ends_at) if key_of(call) == DOOMED]
    after = [call for call in doomed if dead_at + BLINK_S < call.sent_at < outage.end - LOOKUP_S - EDGE_S]
    known = [call for call in doomed if call.sent_at > outage.end + REVERIFY_MAX_S + LOOKUP_S]
    return (
        any(answered(call) and call.sent_at < dead_at for call in doomed)
        and bool(after)
        and all(
            refused_with(call, "auth_unavailable", retry=True) and not books.watch.asked(call) for call in after
        )
        and bool(known)
        and all(_is_invalid(books, call) for call in known)
    )


def _calls(books: Books, host: str, since: float, until: float) -> Sequence[Call]:
    return [call for call in books.sent(since, until) if call.gateway == host and key_of(call) in books.key_ids]


def _is_invalid(books: Books, call: Call) -> bool:
    return (call.status, call.code) == (401, "invalid_api_key") and not books.watch.asked(call)


REVOKED_SCENARIOS = (
    Scenario(
        "fp11-unheard",
        "a revoked key ends within 10 s although no replica was told",
        ("FP11", "S29"),
        _heard_by_nobody,
        _seen_there,
        _active,
    ),
    Scenario(
        "fp11-away",
        "a key revoked while Postgres is away ends with its window, restarted or not",
        ("FP11", "S29"),
        _while_away,
        _seen_away,
        _active,
    ),
)
