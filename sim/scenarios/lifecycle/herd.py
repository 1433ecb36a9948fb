"""S31: hundreds of clients want a vendor whose breaker is open; one trial passes at a time, no herd follows it.

The first trial fails and the breaker opens anew; the second one heals it, and then everybody is let in.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sim.draft import CallDraft, Draft, Knobs, Level, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Call, Exchange
from sim.journal.journal import Journal
from sim.scenarios.books.reading import BLINK_S, Books, answered, refused_with
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

OPEN_S = 30.0
"""How long a breaker refuses before one trial passes."""

CROWD = 500
"""Clients per trial."""

CROWD_MIN = 20
"""So many of them must have come while the trial was under way."""

OPENERS = (5, 9)
"""Failures that open it: five in a row."""

CLOSED, HALF_OPEN, OPEN = 0.0, 1.0, 2.0
"""States of a breaker as the gauge has them."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """One state of a breaker, from its first moment to the next state."""

    host: str
    target: str
    state: float
    since: float
    until: float
    then: float


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    kind = chance.pick(("status", "silent"))
    timer_s = _drawn(chance, 6.0, 9.0)
    begins_s = _drawn(chance, 2.0, 4.0)
    fails_s = timer_s if kind == "silent" else 0.4
    opens_s = begins_s + 0.5 + fails_s
    again_s = opens_s + OPEN_S + fails_s
    heals_s = again_s + _drawn(chance, 3.0, 20.0)
    calls = [
        *(_call(chance, begins_s + _drawn(chance, 0.05, 0.5)) for _ in range(chance.between(*OPENERS))),
        *_crowd(chance, opens_s + OPEN_S, 2.5),
        *_crowd(chance, again_s + OPEN_S, 4.0),
        *(_call(chance, again_s + OPEN_S + _drawn(chance, 30.0, 35.0)) for _ in range(chance.between(10, 30))),
    ]
    first_token_s = _drawn(chance, 1.2, 1.6) if kind == "silent" else _drawn(chance, 2.5, 3.5)
    vendor = VendorDraft("cloud-a", first_token_s=first_token_s, azure=chance.happens(0.2))
    return Draft(
        level=Level.PORTS,
        vendors=(vendor,),
        knobs=Knobs(first_token_s=timer_s if kind == "silent" else 60.0),
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=(Fault(kind, vendor.name, begins_s, heals_s - begins_s, chance.pick((500.0, 503.0))),),
        runs_s=again_s + OPEN_S + 40.0,
    )


def _crowd(chance: Chance, around_s: float, spread_s: float) -> Iterator[CallDraft]:
    """Let clients come in from shortly before a breaker lets one pass."""
    for _ in range(CROWD):
        yield _call(chance, around_s + chance.uniform(-1.0, spread_s))


def _call(chance: Chance, at_s: float) -> CallDraft:
    return CallDraft(at_s=round(at_s, 4), streamed=chance.happens(0.8), tokens=chance.between(1, 10))


def _drawn(chance: Chance, low: float, high: float) -> float:
    return round(chance.uniform(low, high), 3)


def _turns(books: Books) -> Iterator[_Turn]:
    """Give the states of every breaker in a row, the last one of each left out: it has no end."""
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for fact in books.journal.of("gauge"):
        if fact.members["name"] == "breaker_state":
            row = rows.setdefault((fact.host, fact.text("label")), [])
            row.append((fact.at, fact.number("value")))
    for (host, target), row in rows.items():
        for (since, state), (until, then) in pairwise(row):
            yield _Turn(host, target, state, since, until, then)


def _asked(books: Books, turn: _Turn) -> list[Exchange]:
    return [
        one
        for one in books.watch.exchanges
        if (one.gateway, one.target) == (turn.host, turn.target) and turn.since <= one.asked.at < turn.until
    ]


def _came(books: Books, turn: _Turn) -> list[Call]:
    return [call for call in books.sent(turn.since + BLINK_S / 10, turn.until) if call.gateway == turn.host]


def _active(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    turns = [turn for turn in _turns(books) if turn.state == HALF_OPEN]
    if {turn.then for turn in turns if len(_came(books, turn)) >= CROWD_MIN} == {CLOSED, OPEN}:
        yield "S31"


def _seen(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    turns = [*_turns(books)]
    trials = [turn for turn in turns if turn.state == HALF_OPEN]
    ends = {turn.then for turn in trials if len(_came(books, turn)) >= CROWD_MIN}
    if (
        ends == {CLOSED, OPEN}
        and all(_one_passes(books, turn) for turn in trials)
        and all(_nobody_passes(books, turn) for turn in turns if turn.state == OPEN)
        and _all_pass(books, max(turn.until for turn in trials))
    ):
        yield "S31"


def _one_passes(books: Books, turn: _Turn) -> bool:
    """Tell whether one call alone was let through, and all others that came were turned away at once."""
    asked = _asked(books, turn)
    others = [call for call in _came(books, turn) if call.name not in {one.call for one in asked}]
    return len(asked) == 1 and all(_turned_away(call) for call in others)


def _nobody_passes(books: Books, turn: _Turn) -> bool:
    """Tell whether it refused everybody for its time, and let the first one pass who came after it."""
    calls = _came(books, turn)
    late = [call for call in calls if call.sent_at > turn.since + OPEN_S + BLINK_S]
    return (
        turn.then == HALF_OPEN
        and turn.until >= turn.since + OPEN_S
        and not _asked(books, turn)
        and not late
        and all(_turned_away(call) for call in calls if call.over_at < turn.until)
    )


def _turned_away(call: Call) -> bool:
    return refused_with(call, "no_target_available", retry=True) and call.over_at - call.sent_at < BLINK_S


def _all_pass(books: Books, healed_at: float) -> bool:
    calls = [*books.sent(healed_at + BLINK_S, books.watch.phases.get("heal", 0.0))]
    return len(calls) >= OPENERS[0] and all(answered(call) for call in calls)


HERD_SCENARIOS = (Scenario("s31-herd", "one trial at a time, whoever waits", ("S31",), _draft, _seen, _active),)
