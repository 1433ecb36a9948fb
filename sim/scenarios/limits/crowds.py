"""S36 and S37: a crowd on the last of a budget, and replicas of which half cannot count."""

from collections.abc import Iterator

from sim.draft import Draft, Level, LimitsDraft
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.limits.reading import EDGE_S, Quotas, answered, asked_nobody, refused
from sim.scenarios.limits.worlds import COST_MAX, House, at, call_of, calls_in, draw_level, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

CROWD = 100

AT_ONCE_S = 0.5
"""All of a crowd are sent within this."""

WAVES_S = 20.0
"""By then the first wave is over."""

RECONCILED_S = 62.0
"""What was not counted is taken over from the ledger within a minute."""


def _last_of_it(seed: Seed) -> Draft:
    """A budget of which a few calls' worth is left; a second wave finds what the first one did not use."""
    chance = seed.chance("draft")
    replicas = chance.between(1, 3)
    room = chance.between(3, 10)
    day = LimitsDraft(day=2 * room * COST_MAX)
    house = House(day, team=LimitsDraft(day=2 * room * COST_MAX + COST_MAX // 2))
    begins_s = 12.0
    first = [call_of(chance, at(chance, 1.0, 8.0), number % replicas, tokens=50) for number in range(room)]
    crowd = [
        call_of(chance, begins_s + wave + at(chance, 0.0, AT_ONCE_S), number % replicas)
        for wave in (0.0, WAVES_S)
        for number in range(CROWD)
    ]
    return world_of(chance, house, [*first, *crowd], (), replicas=replicas, level=draw_level(chance))


def _waves(quotas: Quotas) -> list[float]:
    """Give the moments in which a crowd was sent."""
    sent = sorted(call.sent_at for call in quotas.sent(0.0, quotas.quiet_at))
    waves: list[float] = []
    for moment in sent:
        many = sum(moment <= other <= moment + AT_ONCE_S for other in sent) >= CROWD / 2
        if many and (not waves or moment > waves[-1] + WAVES_S / 2):
            waves.append(moment)
    return waves


def _seen_crowding(journal: Journal) -> Iterator[str]:
    """Look for a crowd of which few passed, and for a second one that had what the first one gave back."""
    quotas = Quotas(journal)
    limit = quotas.limit("day")
    waves = _waves(quotas)
    for moment in waves:
        calls = quotas.sent(moment, moment + 2 * AT_ONCE_S)
        passed = [call for call in calls if answered(call)]
        told = [call for call in calls if refused(call, 429, "budget_exceeded") and asked_nobody(quotas, call)]
        if not passed or len(told) < CROWD / 2 or len(passed) + len(told) != len(calls):
            return
        under_way = sum(one.at <= moment + 2 * AT_ONCE_S < one.over_at for one in quotas.reserved.of(quotas.key))
        if under_way * COST_MAX > limit:
            return
    if len(waves) == 2 and limit / 2 < quotas.cost() <= limit and quotas.is_settled():
        yield "S36"


def _active_crowding(journal: Journal) -> Iterator[str]:
    if _waves(Quotas(journal)):
        yield "S36"


def _half(seed: Seed) -> Draft:
    """Some of the replicas cannot reach Redis; all reach the vendors."""
    chance = seed.chance("draft")
    replicas = chance.between(2, 3)
    cut_off = range(chance.between(1, replicas - 1))
    starts_s, lasts_s = at(chance, 8.0, 12.0), at(chance, 10.0, 25.0)
    faults = [Fault("redis_cut", f"gw{number + 1}", starts_s, lasts_s) for number in cut_off]
    ends_s = starts_s + lasts_s
    house = House(LimitsDraft(day=chance.between(8, 14) * COST_MAX), team=LimitsDraft(day=1000 * COST_MAX))
    calls = [
        *calls_in(chance, range(replicas), (1.0, 6.0), 2),
        *(
            call_of(chance, at(chance, starts_s + 1.0, ends_s - 4.0), number % replicas, tokens=40)
            for number in range(18 * replicas)
        ),
        *calls_in(chance, range(replicas), (ends_s + RECONCILED_S, ends_s + RECONCILED_S + 5.0), 3),
    ]
    return world_of(chance, house, calls, faults, replicas=replicas, level=Level.WIRE)


def _cut_off(journal: Journal) -> set[str]:
    cuts = (fact for fact in journal.of("fault") if fact.members["fault"] == "redis_cut")
    return {fact.text("target") for fact in cuts if fact.has("on")}


def _seen_half(journal: Journal) -> Iterator[str]:
    """Look for calls uncounted at one half and within the limit at the other; then all of it is made up for."""
    quotas = Quotas(journal)
    lost = _cut_off(journal)
    spans = quotas.spans("redis_cut")
    for span in spans:
        inside = quotas.inside(span)
        blind = [call for call in inside if call.gateway in lost]
        seeing = [call for call in inside if call.gateway not in lost]
        counted = sum(quotas.reserved.used[call.request_id].micros for call in seeing if answered(call))
        if not (blind and all(quotas.passed_uncounted(call) for call in blind)):
            return
        if not (any(quotas.passed_counted(call) for call in seeing) and counted <= quotas.limit("day")):
            return
        later = quotas.sent(span.end + RECONCILED_S, quotas.quiet_at)
        if not (later and all(refused(call, 429, "budget_exceeded") for call in later)):
            return
    if spans and _only_rises(quotas) and quotas.is_settled():
        yield "S37"


def _only_rises(quotas: Quotas) -> bool:
    """Whether what is settled never became less."""
    settled = [fact.number("settled") for fact in quotas.seen(0.0, float("inf"))]
    return settled == sorted(settled)


def _active_half(journal: Journal) -> Iterator[str]:
    quotas = Quotas(journal)
    unknown = {fact.host for fact in journal.of("quota_unknown") if fact.members["operation"] == "reserve"}
    well = {fact.host for fact in journal.of("quota_reserved")}
    spans = quotas.spans("redis_cut")
    if spans and unknown == _cut_off(journal) and well - unknown and spans[0].end - spans[0].start > 2 * EDGE_S:
        yield "S37"


CROWD_SCENARIOS = (
    Scenario(
        "s36-crowd",
        "a hundred calls on the last of a budget",
        ("S36",),
        _last_of_it,
        _seen_crowding,
        _active_crowding,
    ),
    Scenario("s37-half", "some replicas cannot count", ("S37",), _half, _seen_half, _active_half),
)
