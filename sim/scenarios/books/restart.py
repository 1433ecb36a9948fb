"""FP9 and S07: replicas are started while Postgres is away, with a saved snapshot, without, and with an old one.

With one they serve at once: keys of the file until their window ends, all others 503, never 401. Without one, and
with one that is too old or of another time, they are alive, not ready, and wait.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sim.draft import CallDraft, Draft, Knobs
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.outage import (
    KNOWN,
    LATE,
    Outage,
    at,
    draw_outage,
    draw_replicas,
    scattered,
    warm_up,
    world_of,
)
from sim.scenarios.books.reading import (
    BLINK_S,
    EDGE_S,
    LOOKUP_S,
    REVERIFY_MAX_S,
    Books,
    answered,
    key_of,
    refused_with,
)
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

SAVED_LATE_S = 12.5
"""Keys are verified every 5 s and a file is written every 5 s, each a fifth later at most: so much it may lack."""

UP_S = 2 * LOOKUP_S + EDGE_S
"""A start asks the database once before it listens, and knows soon after it whether keys can be told."""

BACK_S = REVERIFY_MAX_S + LOOKUP_S
"""A replica that waits for its first answer asks as often as any other one."""

PROBES_MIN = 2
"""One probe may be luck."""

HOUR_S = 3600.0


def _draft(seed: Seed, *, saved: bool, old: bool = False) -> Draft:
    chance = seed.chance("draft")
    replicas = draw_replicas(chance)
    window_s = chance.pick((120.0, 180.0, 300.0))
    outage = draw_outage(chance, window_s + 60.0, window_s + 90.0)
    outage = replace(outage, starts_s=outage.starts_s + SAVED_LATE_S)
    late = old and chance.happens(0.5)
    starts_s = outage.starts_s + (window_s + EDGE_S if late else at(chance, 8.0, 20.0))
    restarts = [_restart(chance, gateway, starts_s) for gateway in range(replicas)]
    jumps = [_jump(chance, one, hours=old and not late) for one in restarts]
    knobs = Knobs(
        key_window_s=window_s,
        poll_s=chance.pick((0.7, 2.0)),
        drain_delay_s=1.0,
        wall_offset_s=chance.pick((0.0, -5.0)),
        drift=chance.pick((0.0, 0.0002)),
    )
    calls = _calls(chance, replicas, outage, max(one.ends_at_s for one in restarts), window_s)
    return replace(world_of(chance, replicas, outage, calls, knobs, (*restarts, *jumps)), saved=saved)


def _restart(chance: Chance, gateway: int, at_s: float) -> Fault:
    """Kill a replica, or have it leave, and start it again some seconds later."""
    kind = chance.pick(("crash", "sigterm"))
    return Fault(kind, f"gw{gateway + 1}", at(chance, at_s, at_s + 8.0), at(chance, 3.0, 12.0))


def _jump(chance: Chance, restart: Fault, *, hours: bool) -> Fault:
    """Set its wall clock back between the two, which must lengthen nothing; by hours: or forward."""
    seconds = chance.pick((HOUR_S, -HOUR_S)) * chance.uniform(1.0, 9.0) if hours else -at(chance, 0.5, 3.0)
    return Fault("wall_jump", restart.target, round(restart.at_s + restart.lasts_s / 2, 3), 0.0, round(seconds, 3))


def _calls(chance: Chance, replicas: int, outage: Outage, up_s: float, window_s: float) -> Sequence[CallDraft]:
    up, closes_s = up_s + UP_S, outage.starts_s + window_s
    calls = [
        *warm_up(chance, replicas, outage.starts_s - SAVED_LATE_S - EDGE_S),
        *scattered(chance, replicas, LATE[:2], (up, outage.ends_s - LOOKUP_S - EDGE_S), 2),
        *scattered(chance, replicas, KNOWN, (closes_s + EDGE_S, outage.ends_s - LOOKUP_S - EDGE_S), 2),
        *scattered(chance, replicas, (*KNOWN, *LATE), (outage.ends_s + BACK_S, outage.ends_s + BACK_S + 5.0), 1),
    ]
    open_until = closes_s - 2 * SAVED_LATE_S - LOOKUP_S - EDGE_S
    if up < open_until:
        calls += scattered(chance, replicas, KNOWN, (up, open_until), chance.between(1, 3))
    return calls


def _restarts(books: Books) -> dict[str, float]:
    """Give when each replica listened again while the database was away; empty where one of them did not."""
    found = {
        fact.host: fact.at
        for fact in books.journal.of("host_up")
        if any(outage.start < fact.at < outage.end for outage in books.outages)
    }
    return found if found.keys() == set(books.hosts) else {}


def _active_fp9(journal: Journal) -> Iterator[str]:
    if _restarts(Books(journal)):
        yield "FP9"


def _seen_saved(journal: Journal) -> Iterator[str]:
    if _all_serve(Books(journal)):
        yield "FP9"


def _seen_waiting(journal: Journal) -> Iterator[str]:
    if _all_wait(Books(journal)):
        yield "FP9"


def _seen_old(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    restarts = _restarts(books)
    said = (_said(books, host, up_at, "saved_snapshot_unusable") for host, up_at in restarts.items())
    if _all_wait(books) and all(said):
        yield "FP9"


def _active_s07(journal: Journal) -> Iterator[str]:
    if _restarts(Books(journal)):
        yield "S07"


def _seen_s07(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    if _all_serve(books) if books.watch.text("saved") == "True" else _all_wait(books):
        yield "S07"


def _all_serve(books: Books) -> bool:
    restarts = _restarts(books)
    return bool(restarts) and all(
        _serves(books, host, up_at, books.outages[0]) and _is_back(books, host, books.outages[0].end)
        for host, up_at in restarts.items()
    )


def _all_wait(books: Books) -> bool:
    restarts = _restarts(books)
    return bool(restarts) and all(
        _waits(books, host, up_at, books.outages[0]) and _is_back(books, host, books.outages[0].end)
        for host, up_at in restarts.items()
    )


def _serves(books: Books, host: str, up_at: float, outage: Span) -> bool:
    """Tell whether one replica served what was saved, degraded, as long as that counted and not longer."""
    closes_at = books.answered_at(host, up_at) + books.window_s
    before = _probes(books, host, up_at + BLINK_S, closes_at - SAVED_LATE_S - BLINK_S)
    after = _probes(books, host, closes_at + BLINK_S, outage.end)
    calls = [call for call in books.sent(up_at + UP_S, outage.end - LOOKUP_S - EDGE_S) if call.gateway == host]
    counting = [call for call in calls if _age_s(books, call) < books.window_s - SAVED_LATE_S - LOOKUP_S]
    over = [call for call in calls if _age_s(books, call) > books.window_s + EDGE_S]
    return (
        _said(books, host, up_at, "started_from_saved_snapshot")
        and len(before) >= PROBES_MIN
        and len(after) >= PROBES_MIN
        and all(one[:2] == (200, "degraded") and {"postgres_away", "saved_snapshot"} <= one[2] for one in before)
        and all(one[:2] == (503, "unready") and "key_window_closed" in one[2] for one in after)
        and bool(counting)
        and all(answered(call) for call in counting)
        and {True, False} == {key_of(call) in KNOWN for call in over}
        and all(_cannot_be_told(books, call) for call in over)
    )


def _waits(books: Books, host: str, up_at: float, outage: Span) -> bool:
    """Tell whether one replica was alive and unready, asked nobody, and called no key invalid."""
    probes = _probes(books, host, up_at + BLINK_S, outage.end)
    calls = [call for call in books.sent(up_at + BLINK_S, outage.end - LOOKUP_S - EDGE_S) if call.gateway == host]
    gone = [fact for fact in books.journal.of("host_stopped", "host_crashed") if fact.host == host]
    return (
        len(probes) >= PROBES_MIN
        and all(one[:2] == (503, "unready") and "no_snapshot" in one[2] for one in probes)
        and not any(up_at < fact.at < outage.end for fact in gone)
        and bool(calls)
        and all(_cannot_be_told(books, call) for call in calls)
    )


def _is_back(books: Books, host: str, back_at: float) -> bool:
    """Tell whether one replica was sound once the database answered, and every key worked there."""
    probes = _probes(books, host, back_at + BACK_S, back_at + BACK_S + 10.0)
    calls = [call for call in books.sent(back_at + BACK_S, back_at + BACK_S + 10.0) if call.gateway == host]
    return (
        bool(probes)
        and all(one[:2] == (200, "ok") for one in probes)
        and bool(calls)
        and all(answered(call) for call in calls)
    )


def _probes(books: Books, host: str, since: float, until: float) -> list[tuple[object, object, set[str]]]:
    """Give what `/readyz` said: status, state, reasons."""
    return [
        (fact.members["status"], fact.members.get("state"), set(fact.text("reasons").split()))
        for fact in books.told(host, since, until)
    ]


def _said(books: Books, host: str, up_at: float, name: str) -> bool:
    """Tell whether a replica that was being started said this, once."""
    said = [
        fact
        for fact in books.journal.of("log")
        if fact.host == host and fact.members["name"] == name and up_at - UP_S < fact.at <= up_at
    ]
    return len(said) == 1


def _age_s(books: Books, call: Call) -> float:
    return call.sent_at - books.verified_at(call.gateway, key_of(call), call.sent_at)


def _cannot_be_told(books: Books, call: Call) -> bool:
    return refused_with(call, "auth_unavailable", retry=True) and not books.watch.asked(call)


def _saved(seed: Seed) -> Draft:
    return _draft(seed, saved=True)


def _unsaved(seed: Seed) -> Draft:
    return _draft(seed, saved=False)


def _old(seed: Seed) -> Draft:
    return _draft(seed, saved=True, old=True)


def _either(seed: Seed) -> Draft:
    return _draft(seed, saved=seed.chance("saved").happens(0.5))


RESTART_SCENARIOS = (
    Scenario(
        "fp9-saved",
        "started without Postgres: what was saved is served while it counts",
        ("FP9",),
        _saved,
        _seen_saved,
        _active_fp9,
    ),
    Scenario(
        "fp9-waits",
        "started without Postgres and without a file: alive, not ready, no loop of crashes",
        ("FP9",),
        _unsaved,
        _seen_waiting,
        _active_fp9,
    ),
    Scenario(
        "fp9-old",
        "started without Postgres, and the file counts no more or a clock is wrong",
        ("FP9",),
        _old,
        _seen_old,
        _active_fp9,
    ),
    Scenario(
        "s07-down-at-start",
        "Postgres is down at the start, and no key is called invalid",
        ("S07",),
        _either,
        _seen_s07,
        _active_s07,
    ),
)
