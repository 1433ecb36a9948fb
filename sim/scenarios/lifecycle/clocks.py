"""FG5: the wall clock of a gateway jumps by hours, forward and back; nothing that takes time notices.

Measured are a first-token timer, the rest of a breaker, the rest that a vendor asked for, the window of known
keys, and what is recorded of calls: each with a jump in both directions while it runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sim.draft import CallDraft, Draft, KeyDraft, Knobs, Level, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Exchange
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.keys import known_keys_work
from sim.scenarios.books.reading import AWAY, BLINK_S, HUNG, Books
from sim.scenarios.books.ready import is_closed, stays_degraded
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

HOUR_S = 3600.0

OPEN_S = 30.0
"""How long a breaker refuses."""

TAKEN_UP_S = 4.0
"""Calls come every second, so whoever may be asked again is asked within this."""

RECORDED_S = 0.1
"""A record agrees with what its client saw up to this."""


@dataclass(frozen=True, slots=True)
class _Jump:
    """One jump of a host's wall clock."""

    host: str
    at: float
    amount_s: float


@dataclass(frozen=True, slots=True)
class _Lasted:
    """Something that took time at a host, and whether it took as long as it should."""

    host: str
    since: float
    until: float
    right: bool


def _jumps(journal: Journal) -> list[_Jump]:
    return [
        _Jump(fact.text("target"), fact.at, fact.number("amount"))
        for fact in journal.of("fault")
        if fact.members["fault"] == "wall_jump" and fact.has("on")
    ]


def _proven(lasted: list[_Lasted], jumps: list[_Jump], host: str) -> bool:
    """Tell whether all that lasted at a host did so rightly, and one of it through a jump forward and one back."""
    mine = [one for one in lasted if one.host == host]
    return all(one.right for one in mine) and any(
        any(_within(jump, one) and jump.amount_s >= HOUR_S for jump in jumps)
        and any(_within(jump, one) and jump.amount_s <= -HOUR_S for jump in jumps)
        for one in mine
    )


def _within(jump: _Jump, one: _Lasted) -> bool:
    return jump.host == one.host and one.since < jump.at < one.until


def _seen(journal: Journal) -> Iterator[str]:
    books, jumps = Books(journal), _jumps(journal)
    measured = [_timers(books), _breakers(books), _rests(books), _records(books), _windows(books)]
    if (
        books.hosts
        and all(_proven(lasted, jumps, host) for lasted in measured for host in books.hosts)
        and known_keys_work(books, books.outages)
    ):
        yield "FG5"


def _timers(books: Books) -> list[_Lasted]:
    """Give what silent targets were given time for."""
    timer_s, spans = books.watch.number("first_token_s", 60.0), books.watch.fault_spans("silent")
    return [
        _Lasted(one.gateway, one.asked.at, one.told_at, abs(one.told_at - one.asked.at - timer_s) < BLINK_S)
        for one in books.watch.exchanges
        if one.status == 0 and any(span.overlaps(one.asked.at, one.asked.at) for span in spans)
    ]


def _breakers(books: Books) -> list[_Lasted]:
    """Give how long open breakers refused, until somebody was let through."""
    opened: dict[tuple[str, str], float] = {}
    lasted = []
    for fact in books.journal.of("gauge"):
        if fact.members["name"] != "breaker_state":
            continue
        what = (fact.host, fact.text("label"))
        since = opened.pop(what, None)
        if since is not None:
            right = since + OPEN_S <= fact.at <= since + OPEN_S + TAKEN_UP_S and not _asked(
                books, what, since, fact.at
            )
            lasted.append(_Lasted(fact.host, since, fact.at, right))
        if fact.members["value"] == 2:
            opened[what] = fact.at
    return lasted


def _rests(books: Books) -> list[_Lasted]:
    """Give how long targets that had asked for a rest were left alone, from the last answer that asked for it."""
    rests_s = [
        fact.number("amount")
        for fact in books.journal.of("fault")
        if fact.members["fault"] == "rate_limited" and fact.has("on")
    ]
    last: dict[tuple[str, str], Exchange] = {}
    for one in books.watch.exchanges:
        if one.status == 429:
            last[one.gateway, one.target] = one
    lasted = []
    for (host, target), told in last.items():
        later = _asked(books, (host, target), told.told_at, books.watch.ends_at)
        rested_s = later[0].asked.at - told.told_at if later else 0.0
        right = rests_s[0] - BLINK_S <= rested_s <= rests_s[0] + TAKEN_UP_S
        lasted.append(_Lasted(host, told.told_at, told.told_at + rested_s, right))
    return lasted


def _asked(books: Books, what: tuple[str, str], since: float, until: float) -> list[Exchange]:
    return [
        one
        for one in books.watch.exchanges
        if (one.gateway, one.target) == what and since + BLINK_S < one.asked.at < until - BLINK_S
    ]


def _records(books: Books) -> list[_Lasted]:
    """Give how long calls took, right where the record says what the client saw, and no part of it is negative."""
    lasted = []
    for call in books.sent(0.0, books.watch.ends_at):
        for record in books.watch.records.get(call.request_id, ()):
            parts = [record.members[name] for name in ("total_s", "upstream_s", "queue_s", "first_token_s")]
            booked = [fact.number("duration_s") for fact in books.watch.usages.get(call.request_id, ())]
            took_s = call.over_at - call.sent_at
            right = (
                abs(record.number("total_s") - took_s) < RECORDED_S
                and all(part is None or -1e-9 <= float(part) <= took_s + RECORDED_S for part in parts)
                and all(-1e-9 <= part <= took_s + RECORDED_S for part in booked)
            )
            lasted.append(_Lasted(call.gateway, call.sent_at, call.over_at, right))
    return lasted


def _windows(books: Books) -> list[_Lasted]:
    """Give the windows of known keys, right where they closed in time: degraded before, unready after."""
    return [
        _Lasted(
            host,
            outage.start,
            books.answered_at(host, outage.start + BLINK_S) + books.window_s,
            stays_degraded(books, outage, host) and is_closed(books, outage, host),
        )
        for outage in books.outages
        for host in books.hosts
    ]


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(1, 2)
    timer_s, rest_s, window_s = _drawn(chance, 4.0, 8.0), float(chance.between(8, 20)), chance.pick((40.0, 60.0))
    silent = Fault("silent", "cloud-a", 5.0, timer_s + 4.0)
    opens_s = 6.0 + timer_s
    limited = Fault("rate_limited", "cloud-a", opens_s + OPEN_S + 8.0, 3.0, rest_s)
    quiet_s = limited.ends_at_s + rest_s + 8.0
    outage = Fault(chance.pick((AWAY, HUNG)), "", quiet_s, window_s + 20.0)
    measured = (
        Span(6.1, 4.9 + timer_s),
        Span(opens_s + 3.0, opens_s + OPEN_S - 1.0),
        Span(limited.at_s + 2.0, limited.at_s + rest_s - 0.5),
        Span(quiet_s + 1.0, quiet_s + window_s - 8.0),
    )
    jumps = [
        jump for gateway in range(replicas) for span in measured for jump in _both_ways(chance, gateway, span)
    ]
    ends_s = outage.ends_at_s + 10.0
    calls = [call for gateway in range(replicas) for call in _calls(chance, gateway, ends_s)]
    return Draft(
        level=Level.PORTS,
        replicas=replicas,
        vendors=(VendorDraft("cloud-a"), VendorDraft("cloud-b")),
        keys=(KeyDraft("app"), KeyDraft("batch")),
        knobs=Knobs(
            key_window_s=window_s,
            first_token_s=timer_s,
            poll_s=1.0,
            wall_offset_s=chance.pick((0.0, 3.0)),
            drift=chance.pick((0.0, 0.0002)),
        ),
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=tuple(sorted((silent, limited, outage, *jumps), key=lambda fault: fault.at_s)),
        runs_s=ends_s,
    )


def _calls(chance: Chance, gateway: int, ends_s: float) -> Iterator[CallDraft]:
    """Draw a crowd for the silent target, enough to open its breaker, and a call about every second."""
    for _ in range(14):
        yield _call(chance, gateway, _drawn(chance, 5.1, 6.0))
    at_s = 0.5
    while at_s < ends_s - 5.0:
        yield _call(chance, gateway, round(at_s, 3))
        at_s += chance.uniform(0.5, 1.2)


def _call(chance: Chance, gateway: int, at_s: float) -> CallDraft:
    key = chance.pick(("app", "batch"))
    return CallDraft(at_s=at_s, key=key, gateway=gateway, tokens=chance.between(1, 20))


def _both_ways(chance: Chance, gateway: int, within: Span) -> Iterator[Fault]:
    """Jump forward and back within a time, by different amounts, in either order."""
    middle_s = (within.start + within.end) / 2
    sign = chance.pick((1.0, -1.0))
    for low_s, high_s in ((within.start, middle_s), (middle_s, within.end)):
        hours_s = float(chance.between(int(HOUR_S), int(12 * HOUR_S)))
        yield Fault("wall_jump", f"gw{gateway + 1}", _drawn(chance, low_s, high_s), 0.0, sign * hours_s)
        sign = -sign


def _drawn(chance: Chance, low: float, high: float) -> float:
    return round(chance.uniform(low, high), 3)


CLOCK_SCENARIOS = (
    Scenario("fg5-wall-clock", "the wall clock jumps by hours and nothing notices", ("FG5",), _draft, _seen),
)
