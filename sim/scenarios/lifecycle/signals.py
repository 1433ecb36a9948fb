"""FG1, FG2, S26: SIGTERM lets a replica leave in order, under 200 streams too; a second one ends it at once.

In order means: unready at once, calls taken for the balancer's delay, those under way get their grace, those over
it a last word, everything settled and given back, a clean end.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sim.draft import CallDraft, Draft, Knobs, Level, NodeDraft, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.scenarios.books.reading import BLINK_S, Books, answered
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

TOKEN_S = 0.2
FIRST_TOKEN_S = 0.3

MEAN_PER_MEDIAN = 1.046
"""How much longer than the median a token takes on average, as targets draw it."""

SETTLES_S = 3.0
"""Last words, half a second at most; then the books, two seconds at most; then the process is gone."""

AT_ONCE_S = 1.5
"""A second signal waits for nothing but last words."""


@dataclass(frozen=True, slots=True)
class _Leaving:
    """One replica that was told to leave, as its facts tell it. `hurried_at`: when the second signal came."""

    host: str
    told_at: float
    hurried_at: float
    over_at: float
    clean: bool
    delay_s: float
    grace_s: float

    @property
    def closes_at(self) -> float:
        """When it stops taking calls."""
        return self.told_at + self.delay_s

    @property
    def cuts_at(self) -> float:
        """When calls still under way are ended."""
        return self.closes_at + self.grace_s


def _leavings(books: Books, kind: str) -> Iterator[_Leaving]:
    watch = books.watch
    for fault in books.journal.of("fault"):
        if fault.members["fault"] != kind or not fault.has("on"):
            continue
        host, at = fault.text("target"), fault.at
        told = [fact for fact in books.journal.of("drain_begun") if fact.host == host and fact.at == at]
        ends = [fact for fact in books.journal.of("host_stopped") if fact.host == host and fact.at >= at]
        if told and ends:
            yield _Leaving(
                host=host,
                told_at=at,
                hurried_at=at + fault.number("amount"),
                over_at=ends[0].at,
                clean=ends[0].has("clean"),
                delay_s=watch.number("drain_delay_s", 5.0),
                grace_s=watch.number("shutdown_s", 30.0),
            )


def _calls(books: Books, one: _Leaving, since: float, until: float) -> list[Call]:
    return [call for call in books.sent(since, until) if call.gateway == one.host]


def _seen_term(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    leavings = [*_leavings(books, "sigterm")]
    if leavings and all(
        check(books, one)
        for one in leavings
        for check in (_unready_at_once, _takes_calls, _refuses_later, _gives_grace, _cuts, _settles, _ends_cleanly)
    ):
        yield "FG1"


def _unready_at_once(books: Books, one: _Leaving) -> bool:
    before = books.told(one.host, one.told_at - one.delay_s, one.told_at)
    during = books.told(one.host, one.told_at + BLINK_S, one.closes_at - BLINK_S)
    return (
        any(fact.has("ready") for fact in before)
        and bool(during)
        and all(fact.members["status"] == 503 and fact.members.get("state") == "draining" for fact in during)
        and not any(fact.has("ready") for fact in books.told(one.host, one.closes_at, one.over_at))
    )


def _takes_calls(books: Books, one: _Leaving) -> bool:
    calls = _calls(books, one, one.told_at + BLINK_S, one.closes_at - BLINK_S)
    return bool(calls) and all(books.watch.asked(call) and _well(call) for call in calls)


def _refuses_later(books: Books, one: _Leaving) -> bool:
    calls = _calls(books, one, one.closes_at + BLINK_S, one.over_at - BLINK_S)
    return bool(calls) and all(
        not books.watch.asked(call) and (call.outcome == "refused" or call.code == "draining") for call in calls
    )


def _gives_grace(books: Books, one: _Leaving) -> bool:
    calls = _calls(books, one, one.told_at - one.cuts_at, one.closes_at)
    in_grace = [call for call in calls if one.closes_at < call.over_at < one.cuts_at]
    return any(call.sent_at < one.told_at for call in in_grace) and all(answered(call) for call in in_grace)


def _cuts(books: Books, one: _Leaving) -> bool:
    calls = _calls(books, one, 0.0, one.closes_at)
    over = [call for call in calls if call.over_at >= one.cuts_at]
    return any(call.outcome == "error_event" for call in over) and all(
        _last_word(call) and call.over_at <= one.cuts_at + SETTLES_S for call in over
    )


def _last_word(call: Call) -> bool:
    return call.code == "draining" and call.outcome in ("error_event", "error")


def _well(call: Call) -> bool:
    return answered(call) or _last_word(call)


def _settles(books: Books, one: _Leaving) -> bool:
    """Tell whether every attempt of its calls was booked, and every slot given back, before it was gone."""
    watch = books.watch
    calls = _calls(books, one, 0.0, one.closes_at)
    for call in calls:
        booked = [fact for fact in watch.usages.get(call.request_id, ()) if fact.at <= one.over_at]
        if len(booked) < len(watch.asked(call)):
            return False
    taken = {fact.text("lease") for fact in books.journal.of("lease_taken") if _of(fact.host, fact.at, one)}
    back = {fact.text("lease") for fact in books.journal.of("lease_released") if _of(fact.host, fact.at, one)}
    return bool(calls) and taken == back


def _of(host: str, at: float, one: _Leaving) -> bool:
    return host == one.host and at <= one.over_at


def _ends_cleanly(books: Books, one: _Leaving) -> bool:
    del books
    return one.clean and one.cuts_at <= one.over_at <= one.cuts_at + SETTLES_S


def _seen_twice(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    leavings = [*_leavings(books, "sigterm_twice")]
    if leavings and all(_ends_at_once(books, one) and _comes_back(books, one) for one in leavings):
        yield "FG2"


def _ends_at_once(books: Books, one: _Leaving) -> bool:
    """Tell whether it was gone at once although calls ran that the drain would have waited for."""
    running = [call for call in _calls(books, one, 0.0, one.hurried_at) if call.over_at > one.hurried_at]
    waits_until = max((call.over_at for call in running), default=0.0)
    return (
        bool(running)
        and not one.clean
        and one.hurried_at <= one.over_at <= one.hurried_at + AT_ONCE_S < one.cuts_at
        and waits_until <= one.over_at + BLINK_S
        and all(_last_word(call) or call.outcome in ("cut", "refused") for call in running)
        and any(_last_word(call) for call in running)
    )


def _comes_back(books: Books, one: _Leaving) -> bool:
    """Tell whether the next process answers: what the last one held keeps nobody waiting."""
    ups = [fact.at for fact in books.journal.of("host_up") if fact.host == one.host and fact.at > one.over_at]
    calls = _calls(books, one, ups[0] + BLINK_S, books.watch.phases.get("heal", 0.0)) if ups else []
    return bool(calls) and all(answered(call) for call in calls)


def _term(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    delay_s, grace_s = _drawn(chance, 1.5, 4.0), _drawn(chance, 4.0, 9.0)
    told_s = _drawn(chance, 6.0, 10.0)
    back_s = told_s + delay_s + grace_s + _drawn(chance, 3.5, 6.0)
    calls = [*_running(chance, told_s, told_s + delay_s, grace_s)]
    calls += [_call(told_s + _drawn(chance, 0.15, 0.8) * delay_s, 5) for _ in range(chance.between(2, 4))]
    calls += [_call(told_s + delay_s + _drawn(chance, 0.2, 0.9) * grace_s, 5) for _ in range(chance.between(2, 4))]
    calls += _others(chance, back_s)
    fault = Fault("sigterm", "gw1", told_s, back_s - told_s)
    return _world(chance, calls, fault, Knobs(drain_delay_s=delay_s, shutdown_s=grace_s, poll_s=0.4))


def _twice(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    delay_s, grace_s = _drawn(chance, 1.0, 4.0), _drawn(chance, 8.0, 20.0)
    told_s = _drawn(chance, 6.0, 10.0)
    between_s = _drawn(chance, 0.2, delay_s + grace_s / 2)
    back_s = told_s + between_s + _drawn(chance, 3.0, 6.0)
    calls = [*_running(chance, told_s, told_s + delay_s, grace_s), *_others(chance, back_s)]
    fault = Fault("sigterm_twice", "gw1", told_s, back_s - told_s, between_s)
    return _world(chance, calls, fault, Knobs(drain_delay_s=delay_s, shutdown_s=grace_s, poll_s=1.0))


def _running(chance: Chance, told_s: float, closes_s: float, grace_s: float) -> Iterator[CallDraft]:
    """Draw calls under way at the signal: some end within the grace, some would run far beyond it."""
    for _ in range(chance.between(2, 4)):
        yield _lasting(chance, told_s, closes_s + chance.uniform(0.3, 0.6) * grace_s, streamed=chance.happens(0.7))
    for number in range(chance.between(2, 4)):
        beyond_s = closes_s + 2.0 * grace_s + 4.0
        yield _lasting(chance, told_s, beyond_s, streamed=number == 0 or chance.happens(0.7))


def _lasting(chance: Chance, told_s: float, until_s: float, *, streamed: bool) -> CallDraft:
    at_s = told_s - _drawn(chance, 1.5, 5.0)
    tokens = int((until_s - at_s - FIRST_TOKEN_S) / (TOKEN_S * MEAN_PER_MEDIAN))
    return _call(at_s, tokens, streamed=streamed)


def _others(chance: Chance, back_s: float) -> Iterator[CallDraft]:
    """Draw calls before everything, at the other replicas, and to the process that follows."""
    for _ in range(chance.between(2, 6)):
        yield _call(_drawn(chance, 0.0, back_s), chance.between(1, 10), gateway=1)
    for _ in range(chance.between(2, 4)):
        yield _call(back_s + _drawn(chance, 0.5, 4.0), chance.between(1, 5))


def _call(at_s: float, tokens: int, *, gateway: int = 0, streamed: bool = True) -> CallDraft:
    return CallDraft(at_s=round(at_s, 3), gateway=gateway, tokens=tokens, streamed=streamed)


def _world(chance: Chance, calls: list[CallDraft], fault: Fault, knobs: Knobs) -> Draft:
    node = NodeDraft("node-1", slots=chance.between(2, 8), window=None, token_s=TOKEN_S)
    letters = "ab"[: chance.between(1, 2)]
    vendors = (VendorDraft(f"cloud-{letter}", token_s=TOKEN_S, azure=chance.happens(0.2)) for letter in letters)
    return Draft(
        level=Level.WIRE,
        replicas=2,
        vendors=tuple(vendors),
        nodes=(node,) if chance.happens(0.6) else (),
        knobs=knobs,
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=(fault,),
        runs_s=fault.ends_at_s + 12.0,
    )


def _drawn(chance: Chance, low: float, high: float) -> float:
    return round(chance.uniform(low, high), 3)


STREAMS = 200

CUT_MIN = 40
"""So many of the streams run beyond the grace, at least."""


def _many(seed: Seed) -> Draft:
    """Two hundred streams under way at the signal, of which some end within the grace."""
    chance = seed.chance("draft")
    delay_s, grace_s = _drawn(chance, 1.5, 3.0), _drawn(chance, 6.0, 9.0)
    told_s = _drawn(chance, 6.0, 8.0)
    closes_s = told_s + delay_s
    back_s = closes_s + grace_s + _drawn(chance, 3.5, 6.0)
    beyond = chance.between(CUT_MIN + 10, STREAMS // 2)
    ends_s = [closes_s + chance.uniform(0.2, 0.6) * grace_s for _ in range(STREAMS - beyond)]
    ends_s += [closes_s + 2.0 * grace_s + 4.0] * beyond
    calls = [_lasting(chance, told_s, until_s, streamed=True) for until_s in ends_s]
    calls += [_call(told_s + _drawn(chance, 0.15, 0.8) * delay_s, 5) for _ in range(3)]
    calls += [_call(closes_s + _drawn(chance, 0.2, 0.9) * grace_s, 5) for _ in range(3)]
    calls += _others(chance, back_s)
    fault = Fault("sigterm", "gw1", told_s, back_s - told_s)
    return _world(chance, calls, fault, Knobs(drain_delay_s=delay_s, shutdown_s=grace_s, poll_s=0.4))


def _seen_many(journal: Journal) -> Iterator[str]:
    if [*_active_many(journal)] and [*_seen_term(journal)]:
        yield "S26"


def _active_many(journal: Journal) -> Iterator[str]:
    """Give the id where so many streams were under way at the signal, and enough of them ran beyond the grace."""
    books = Books(journal)
    for one in _leavings(books, "sigterm"):
        under_way = [call for call in _calls(books, one, 0.0, one.told_at) if call.over_at > one.told_at]
        cut = [call for call in under_way if call.over_at >= one.cuts_at]
        if len(under_way) >= STREAMS - CUT_MIN // 2 and len(cut) >= CUT_MIN:
            yield "S26"


SIGNAL_SCENARIOS = (
    Scenario("fg1-sigterm", "SIGTERM lets a replica leave in order", ("FG1",), _term, _seen_term),
    Scenario("s26-streams", "SIGTERM under two hundred streams", ("S26",), _many, _seen_many, _active_many),
    Scenario("fg2-sigterm-twice", "a second SIGTERM ends it at once", ("FG2",), _twice, _seen_twice),
)
