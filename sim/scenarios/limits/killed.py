"""FG3 and S25: a replica is killed with reservations; they come back within their time, nothing is paid twice."""

from collections import Counter
from collections.abc import Iterator

from sim.checkers.reserved import Reservation
from sim.draft import Draft, Level, LimitsDraft
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.limits.reading import Quotas, refused
from sim.scenarios.limits.worlds import (
    ANSWER_MAX,
    COST_MAX,
    TTL_S,
    House,
    at,
    call_of,
    calls_in,
    draw_level,
    world_of,
)
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

SURE_S = 8.0
"""Who beats every 5 s is not taken for dead before this."""

SWEPT_S = TTL_S + 1.0
"""By then the next who reserves has given back what the dead held."""

TOKEN_S = 0.2

IN_FLIGHT = 10
"""Calls of which some end while their gateway stands still."""

HELD = 5
"""Calls that the dead replica had under way: all that the key may have."""


def _killed(seed: Seed) -> Draft:
    """One replica has all of the key's places and nearly all of its budget when it dies."""
    chance = seed.chance("draft")
    replicas = chance.between(2, 3)
    dies_s = at(chance, 8.0, 12.0)
    rest = range(1, replicas)
    limits = LimitsDraft(concurrent=HELD, day=(HELD + 1) * COST_MAX)
    calls = [
        *(call_of(chance, dies_s - at(chance, 0.8, 3.0), 0, tokens=ANSWER_MAX) for _ in range(HELD)),
        *calls_in(chance, rest, (dies_s + 0.5, dies_s + SURE_S - 1.0), 3),
        *(call_of(chance, dies_s + SWEPT_S + 0.2 + 0.5 * number, 1, tokens=3) for number in range(3)),
    ]
    fault = Fault("crash", "gw1", dies_s, at(chance, 1.0, 12.0))
    house = House(limits, token_s=TOKEN_S)
    return world_of(chance, house, calls, [fault], replicas=replicas, level=draw_level(chance))


def _left(quotas: Quotas, host: str, died_at: float) -> list[Reservation]:
    """Give what a replica had reserved when it died."""
    mine = (one for one in quotas.reserved.of(quotas.key) if one.host == host)
    return [one for one in mine if one.dead_at == died_at < one.over_at]


def _deaths(journal: Journal) -> list[tuple[str, float]]:
    return [(fact.host, fact.at) for fact in journal.of("host_crashed")]


def _seen_killed(journal: Journal) -> Iterator[str]:
    """Look for refusals while the dead hold everything, for answers after it, and for nothing paid twice."""
    quotas = Quotas(journal)
    deaths = _deaths(journal)
    for host, died_at in deaths:
        early = quotas.sent(died_at, died_at + SURE_S)
        later = quotas.sent(died_at + SWEPT_S, quotas.quiet_at)
        held = len(_left(quotas, host, died_at)) == HELD
        told = early and all(refused(call, 429, "rate_limit_exceeded") for call in early)
        if not (held and told and later and all(quotas.passed_counted(call) for call in later)):
            return
        if not _is_given_back(quotas, died_at):
            return
    if deaths and _nothing_twice(quotas) and quotas.is_settled():
        yield "FG3"


def _is_given_back(quotas: Quotas, died_at: float) -> bool:
    """Whether the store counted what the dead held for a while, and not for longer than it may."""
    for_now = quotas.seen(0.0, died_at + SURE_S)[-1:]
    after = quotas.seen(died_at + SWEPT_S + 1.0, quotas.quiet_at)
    held = [fact.number("running") == HELD for fact in for_now]
    return held == [True] and bool(after) and all(fact.number("running") < HELD for fact in after)


def _nothing_twice(quotas: Quotas) -> bool:
    """Whether no event came twice, and no call has more of them than requests that a target saw."""
    usages = [*quotas.journal.of("usage")]
    asked = Counter(one.call for one in quotas.watch.exchanges if one.call)
    by_call = Counter(fact.text("request_id") for fact in usages)
    once = len({fact.text("event_id") for fact in usages}) == len(usages)
    return once and all(
        by_call[call.request_id] <= asked[call.name] for call in quotas.watch.calls.values() if call.request_id
    )


def _before_it_settles(seed: Seed) -> Draft:
    """A replica stands still while its targets finish their answers; it dies before it can hear of them."""
    chance = seed.chance("draft")
    replicas = chance.between(2, 3)
    stops_s = at(chance, 8.0, 12.0)
    lag_s = at(chance, 4.0, 6.0)
    limits = LimitsDraft(day=1000 * COST_MAX, concurrent=100)
    calls = [
        *(
            call_of(chance, stops_s - at(chance, 0.3, 1.2), 0, tokens=chance.between(10, 30))
            for _ in range(IN_FLIGHT)
        ),
        *calls_in(chance, range(1, replicas), (stops_s + 1.0, stops_s + 8.0), 3),
        *calls_in(chance, range(1, replicas), (stops_s + lag_s + SWEPT_S, stops_s + lag_s + SWEPT_S + 4.0), 2),
    ]
    faults = [
        Fault("lag", "gw1", stops_s, amount=lag_s),
        Fault("crash", "gw1", round(stops_s + 0.8 * lag_s, 3), at(chance, 1.0, 6.0)),
    ]
    house = House(limits, token_s=0.1)
    return world_of(chance, house, calls, faults, replicas=replicas, level=Level.WIRE)


def _unheard(quotas: Quotas) -> int:
    """Count the answers that were whole when their gateway died, and that it never booked."""
    found = 0
    for host, died_at in _deaths(quotas.journal):
        whole = [one for one in quotas.watch.exchanges if one.gateway == host and one.how == "whole" and one.call]
        booked = [fact for fact in quotas.journal.of("usage") if fact.host == host and fact.at < died_at]
        found += sum(one.told_at < died_at for one in whole) - len(booked)
    return found


def _seen_unsettled(journal: Journal) -> Iterator[str]:
    """Look for answers that nobody booked, whose reservations are gone after their time all the same."""
    quotas = Quotas(journal)
    deaths = _deaths(journal)
    for host, died_at in deaths:
        left = _left(quotas, host, died_at)
        after = quotas.seen(died_at + SWEPT_S + 1.0, quotas.quiet_at)
        others = [one for one in quotas.reserved.of(quotas.key) if one not in left]
        for fact in after:
            running = sum(one.asked_at <= fact.at <= one.gone_at for one in others)
            if fact.number("running") > running:
                return
        if not left:
            return
    if deaths and _unheard(quotas) > 0 and _nothing_twice(quotas) and quotas.is_settled():
        yield "S25"


def _active_unsettled(journal: Journal) -> Iterator[str]:
    if _unheard(Quotas(journal)) > 0:
        yield "S25"


KILLED_SCENARIOS = (
    Scenario("fg3-reservations", "what a killed replica had reserved comes back", ("FG3",), _killed, _seen_killed),
    Scenario(
        "s25-unsettled",
        "a replica is killed between an answer and its settlement",
        ("S25",),
        _before_it_settles,
        _seen_unsettled,
        _active_unsettled,
    ),
)
