"""S19 and S20: the wall clock of a replica jumps by hours, or replicas disagree by seconds; limits do not notice.

Rates and budgets are counted on the store's clock, so replicas whose clocks differ admit together what one would,
and tell the same waits: clients who come back exactly when they were told get in. Records and usage events carry
durations that no clock change touches, beside the wall time as their replica believes it.
"""

from collections.abc import Iterator
from itertools import pairwise

from sim.draft import CallDraft, Draft, KeyDraft, Knobs, LimitsDraft, Manner, NodeDraft, PriceDraft, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.scenarios.books.reading import Books, answered
from sim.scenarios.limits.worlds import draw_level
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

HOUR_S = 3600.0

APART_S = 5.0

RECORDED_S = 0.1
"""A record agrees with what its client saw up to this."""

REPLICAS = 2
REFUSED_MIN = 2
"""At each replica."""

PRICE = 20
MUCH = 10_000_000
"""Micro-dollars that nobody here spends: the budget is counted and never in the way."""


def _jumping(seed: Seed) -> Draft:
    """One replica's clock jumps an hour forward and one back, in either order, between bursts of calls."""
    chance = seed.chance("draft")
    sign = chance.pick((1.0, -1.0))
    moments = (chance.uniform(8.0, 12.0), chance.uniform(30.0, 36.0), chance.uniform(55.0, 60.0))
    amounts = (sign * HOUR_S, -2 * sign * HOUR_S, sign * HOUR_S + chance.uniform(-2.0, 2.0))
    faults = tuple(
        Fault("wall_jump", "gw1", round(at_s, 3), 0.0, round(amount, 3))
        for at_s, amount in zip(moments, amounts, strict=True)
    )
    return _world(chance, Knobs(poll_s=5.0), faults)


def _apart(seed: Seed) -> Draft:
    """The second replica's clock is five seconds before or behind that of the first, and drifts."""
    chance = seed.chance("draft")
    knobs = Knobs(poll_s=5.0, wall_offset_s=chance.pick((APART_S, -APART_S)), drift=chance.pick((0.0, 0.0002)))
    return _world(chance, knobs, ())


def _world(chance: Chance, knobs: Knobs, faults: tuple[Fault, ...]) -> Draft:
    rpm = chance.between(6, 10)
    limits = LimitsDraft(rpm=rpm, day=MUCH)
    bursts = (1.0, 14.0, 38.0, 62.0)
    calls = [
        _call(chance, at_s + chance.uniform(0.0, 4.0), gateway)
        for at_s in bursts
        for gateway in range(REPLICAS)
        for _ in range(rpm)
    ]
    calls += [
        CallDraft(at_s=round(at_s + chance.uniform(1.0, 5.0), 3), key="free", gateway=gateway)
        for at_s in bursts
        for gateway in range(REPLICAS)
        for _ in range(2)
    ]
    return Draft(
        level=draw_level(chance),
        replicas=REPLICAS,
        vendors=(VendorDraft("cloud-a"),),
        nodes=(NodeDraft("node-1", slots=16, window=None),) if chance.happens(0.5) else (),
        keys=(
            KeyDraft("app", limits=limits, closed=chance.happens(0.5)),
            KeyDraft("free"),
        ),
        prices=(PriceDraft("cloud-a", 0, PRICE), PriceDraft("local", 0, PRICE)),
        knobs=knobs,
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=faults,
        runs_s=90.0,
    )


def _call(chance: Chance, at_s: float, gateway: int) -> CallDraft:
    returns = chance.happens(0.3)
    return CallDraft(
        at_s=round(at_s, 3),
        gateway=gateway,
        tokens=chance.between(1, 20),
        streamed=chance.happens(0.5),
        manner=Manner.RETURNS if returns else Manner.READS,
        after=2.0 if returns else 0.0,
    )


def _refusals(journal: Journal, host: str, since: float = 0.0) -> list[Fact]:
    return [fact for fact in journal.of("quota_refused") if fact.host == host and fact.at >= since]


def _active_jumping(journal: Journal) -> Iterator[str]:
    amounts = [fact.number("amount") for fact in _jumps(journal)]
    if amounts and min(amounts) <= -HOUR_S + APART_S and max(amounts) >= HOUR_S - APART_S:
        yield "S19"


def _seen_jumping(journal: Journal) -> Iterator[str]:
    books, jumps = Books(journal), _jumps(journal)
    if jumps and _is_alike(books, jumps[0].at) and _records_hold(books) and _carries_both(books, jumps):
        yield "S19"


def _active_apart(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    apart_s = abs(books.watch.number("wall_offset_s", 0.0))
    if apart_s >= APART_S and all(len(_refusals(journal, host)) >= REFUSED_MIN for host in books.hosts):
        yield "S20"


def _seen_apart(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    if [*_active_apart(journal)] and _is_alike(books, 0.0) and _records_hold(books):
        yield "S20"


def _jumps(journal: Journal) -> list[Fact]:
    return [fact for fact in journal.of("fault") if fact.text("fault") == "wall_jump" and fact.has("on")]


def _is_alike(books: Books, since: float) -> bool:
    """Tell whether both replicas refuse and admit, and tell waits of one clock."""
    refused = {host: _refusals(books.journal, host, since) for host in books.hosts}
    return (
        len(refused) == REPLICAS
        and all(len(facts) >= REFUSED_MIN for facts in refused.values())
        and _waits_agree([fact for facts in refused.values() for fact in facts])
        and all(answered(call) or call.code == "rate_limit_exceeded" for call in _calls(books))
        and any(answered(call) for call in _calls(books) if call.sent_at > since)
    )


def _waits_agree(refused: list[Fact]) -> bool:
    """Tell whether refusals in a row point to moments that never go back: they come from one clock."""
    ordered = sorted(refused, key=lambda fact: fact.at)
    until = [fact.at + fact.number("wait_ms") / 1000 for fact in ordered]
    return all(later >= earlier - RECORDED_S for earlier, later in pairwise(until))


def _calls(books: Books) -> list[Call]:
    return [*books.sent(0.0, books.watch.phases.get("heal", 0.0))]


def _records_hold(books: Books) -> bool:
    """Tell whether no duration of a record or of a usage event is negative, or longer than its client waited."""
    watch = books.watch
    for call in _calls(books):
        took_s = call.over_at - call.sent_at + RECORDED_S
        for record in watch.records.get(call.request_id, ()):
            if not 0.0 <= record.number("total_s") <= took_s:
                return False
        for usage in watch.usages.get(call.request_id, ()):
            if not 0.0 <= usage.number("duration_s") <= took_s:
                return False
    return True


def _carries_both(books: Books, jumps: list[Fact]) -> bool:
    """Tell whether usage events say, beside the durations, the wall time that their replica then believed in."""
    host, first, second = jumps[0].text("target"), jumps[0], jumps[1]
    begins_at = books.watch.number("begins_at_unix_s", 0.0)
    told = [
        usage.number("started_at") - begins_at - usage.at
        for usages in books.watch.usages.values()
        for usage in usages
        if usage.host == host and first.at < usage.at - usage.number("duration_s") and usage.at < second.at
    ]
    return bool(told) and all(abs(off_s - first.number("amount")) < APART_S for off_s in told)


DISAGREEING_SCENARIOS = (
    Scenario("s19-wall-jump", "one clock jumps by hours", ("S19",), _jumping, _seen_jumping, _active_jumping),
    Scenario("s20-apart", "replicas disagree about the time", ("S20",), _apart, _seen_apart, _active_apart),
)
