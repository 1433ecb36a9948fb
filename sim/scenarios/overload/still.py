"""FG7 and S21: a gateway stands still; it knows and tells for how long, and nobody pays for it twice.

FG7: the stall is measured, counted and told. S21: it lasts five seconds and more, under calls with every timer
there is: what was late is ended once, answers that have come meanwhile are taken and not timed out, and leases
count again only as far as the store says.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sim.draft import CallDraft, Draft
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.reading import BLINK_S, Books, answered
from sim.scenarios.fleet.leases.reading import Slots
from sim.scenarios.fleet.leases.worlds import TTL_S, When, calls_in, drawn, long_call, machines, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

LOOK_S = 0.1
"""How often production looks at its loop."""

LONG_S = 5.0

SETTLES_S = 8.0
"""After it goes on: looks at nodes, renewals and the board are all up to date."""


@dataclass(frozen=True, slots=True)
class _Stall:
    """One standstill of a gateway."""

    host: str
    span: Span

    @property
    def lasted_s(self) -> float:
        """How long it was."""
        return self.span.end - self.span.start


def _stalls(journal: Journal) -> list[_Stall]:
    return [
        _Stall(fact.text("target"), Span(fact.at, fact.at + fact.number("amount")))
        for fact in journal.of("fault")
        if fact.text("fault") == "lag" and fact.has("on")
    ]


def _measured(seed: Seed) -> Draft:
    """Several stalls of each gateway, seconds apart: shorter and longer than a look."""
    chance = seed.chance("draft")
    lags = [drawn(chance, 0.25, 4.0) for _ in range(chance.between(2, 4))]
    return _world(chance, lags)


def _long(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    return _world(chance, [drawn(chance, LONG_S, LONG_S + 4.0), drawn(chance, TTL_S + 2.0, TTL_S + 6.0)])


def _world(chance: Chance, lags: list[float]) -> Draft:
    replicas = chance.between(1, 2)
    at_s, faults, calls = drawn(chance, 5.0, 7.0), [], [*calls_in(chance, replicas, When(0.5, 4.0), 2)]
    for lag_s in lags:
        faults.append(Fault("lag", "gw1", at_s, 0.0, lag_s))
        calls += _calls(chance, replicas, at_s, at_s + lag_s)
        at_s = round(at_s + lag_s + SETTLES_S + drawn(chance, 8.0, 10.0), 3)
    nodes = machines(chance, 2, slots=16)
    draft = world_of(chance, replicas, nodes, calls, faults, runs_s=at_s + 4.0)
    return _looking(draft)


def _calls(chance: Chance, replicas: int, starts_s: float, ends_s: float) -> Iterator[CallDraft]:
    """Draw calls that are under way when it stands still, that come meanwhile, and that come after it."""
    for gateway in range(replicas):
        yield long_call(
            starts_s - drawn(chance, 0.5, 3.0), ends_s - starts_s + SETTLES_S + 5.0, 0.03, gateway=gateway
        )
    yield from calls_in(chance, replicas, When(starts_s - 0.3, starts_s), 2)
    yield from calls_in(chance, replicas, When(starts_s, ends_s), chance.between(2, 4))
    yield from calls_in(chance, replicas, When(ends_s + SETTLES_S, ends_s + SETTLES_S + 5.0), 3)


def _looking(draft: Draft) -> Draft:
    return replace(draft, knobs=replace(draft.knobs, loop_look_s=LOOK_S))


def _seen_measured(journal: Journal) -> Iterator[str]:
    stalls = _stalls(journal)
    if stalls and all(_is_measured(journal, stall) for stall in stalls) and _nothing_else(journal, stalls):
        yield "FG7"


def _is_measured(journal: Journal, stall: _Stall) -> bool:
    """Tell whether the gauge says how long it was, as soon as it goes on, and the metric counts it once."""
    after = Span(stall.span.end - BLINK_S, stall.span.end + LOOK_S + BLINK_S)
    lags = [
        fact.number("value")
        for fact in journal.of("gauge")
        if fact.host == stall.host and fact.members["name"] == "loop_lag_s" and after.overlaps(fact.at, fact.at)
    ]
    counted = [
        fact
        for fact in journal.of("counted")
        if fact.host == stall.host and fact.members["name"] == "loop_blocked" and after.overlaps(fact.at, fact.at)
    ]
    longest = max(lags, default=0.0)
    return len(counted) == 1 and stall.lasted_s - LOOK_S - BLINK_S <= longest <= stall.lasted_s + BLINK_S


def _nothing_else(journal: Journal, stalls: list[_Stall]) -> bool:
    """Tell whether nothing else was taken for a stall, nobody was refused for one, and the log tells of them."""
    counted = [fact for fact in journal.of("counted") if fact.members["name"] == "loop_blocked"]
    shed = [fact for fact in journal.of("counted") if fact.members["name"] == "calls_shed"]
    told = [fact for fact in journal.of("log") if fact.text("name") == "loop_blocked"]
    return len(counted) == len(stalls) and not shed and bool(told)


def _active_long(journal: Journal) -> Iterator[str]:
    stalls = _stalls(journal)
    if any(LONG_S <= stall.lasted_s < TTL_S for stall in stalls) and any(
        stall.lasted_s > TTL_S for stall in stalls
    ):
        yield "S21"


def _seen_long(journal: Journal) -> Iterator[str]:
    books, slots, stalls = Books(journal), Slots(journal), _stalls(journal)
    if (
        stalls
        and all(_is_measured(journal, stall) for stall in stalls)
        and all(_goes_on(books, stall) for stall in stalls)
        and all(_leases_follow(slots, stall) for stall in stalls)
    ):
        yield "S21"


def _goes_on(books: Books, stall: _Stall) -> bool:
    """Tell whether calls that came before, in and after it were answered, none cut off in a burst."""
    calls = [call for call in books.sent(0.0, books.watch.phases["heal"]) if call.gateway == stall.host]
    caught = [call for call in calls if call.sent_at < stall.span.end and call.over_at > stall.span.start]
    after = [call for call in calls if stall.span.end + SETTLES_S <= call.sent_at]
    return bool(caught) and bool(after) and all(_fares(call) for call in (*caught, *after))


def _fares(call: Call) -> bool:
    """Tell whether it was answered, or refused because nobody knew by then how busy the nodes are."""
    return answered(call) or call.code in ("node_state_unknown", "no_node_available")


def _leases_follow(slots: Slots, stall: _Stall) -> bool:
    """Tell whether leases that ended meanwhile were taken up again before anybody believed in them."""
    held = [
        lease
        for lease in slots.leases
        if lease.host == stall.host and lease.held_throughout(stall.span.start, stall.span.end + SETTLES_S)
    ]
    found = [[how for at, how in lease.renewed if at >= stall.span.end][:1] for lease in held]
    if stall.lasted_s <= TTL_S:
        return bool(held)
    return bool(held) and all(first in (["regained"], ["over"]) for first in found)


STILL_SCENARIOS = (
    Scenario("fg7-still", "a loop that stands still is measured and told", ("FG7",), _measured, _seen_measured),
    Scenario("s21-still", "a gateway stands still for seconds", ("S21",), _long, _seen_long, _active_long),
)
