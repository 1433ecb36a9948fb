"""FR1 to FR3: the store that counts is away; rates are skipped, dollars too unless somebody wants them closed."""

from collections.abc import Iterator
from functools import partial

from sim.draft import Draft, KeyDraft, LimitsDraft
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.limits.reading import STORE, Quotas, answered, asked_nobody, felt, refused
from sim.scenarios.limits.worlds import COST_MAX, House, at, call_of, calls_in, draw_level, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

RPM = 4


def _outage(chance: Chance) -> Fault:
    return Fault(chance.pick(STORE), "", at(chance, 12.0, 16.0), at(chance, 12.0, 30.0))


def _rates(seed: Seed) -> Draft:
    """A handful of calls a minute; more come before the outage, many more in it."""
    chance = seed.chance("draft")
    fault, replicas = _outage(chance), chance.between(1, 3)
    limits = LimitsDraft(rpm=RPM, concurrent=2)
    inside = (fault.at_s + 1.0, fault.ends_at_s - 4.0)
    calls = [
        *(call_of(chance, at(chance, 3.0, 8.0), number % replicas) for number in range(2 * RPM)),
        *(call_of(chance, at(chance, *inside), number % replicas) for number in range(3 * RPM)),
        *(call_of(chance, fault.ends_at_s + at(chance, 4.0, 9.0), number % replicas) for number in range(2 * RPM)),
    ]
    return world_of(chance, House(limits), calls, [fault], replicas=replicas, level=draw_level(chance))


def _seen_rates(journal: Journal) -> Iterator[str]:
    """Look for refusals before and after the outage, and more answers in it than the limit knows."""
    quotas = Quotas(journal)
    spans = quotas.spans(*STORE)
    for span in spans:
        inside = quotas.inside(span)
        limited = [quotas.sent(0.0, span.start), quotas.sent(span.end + 3.0, quotas.quiet_at)]
        in_force = all(any(refused(call, 429, "rate_limit_exceeded") for call in calls) for calls in limited)
        more = len(inside) > quotas.limit("rpm")
        if not (in_force and more and all(quotas.passed_uncounted(call) for call in inside)):
            return
    if spans:
        yield "FR1"


def _open(seed: Seed) -> Draft:
    """A budget that is used up before the outage: in it calls pass, after it they do not."""
    chance = seed.chance("draft")
    fault, replicas = _outage(chance), chance.between(1, 3)
    limits = LimitsDraft(day=chance.between(2, 4) * COST_MAX)
    inside = (fault.at_s + 1.0, fault.ends_at_s - 4.0)
    calls = [
        *(call_of(chance, at(chance, 2.0, 9.0), number % replicas, tokens=45) for number in range(8)),
        *calls_in(chance, range(replicas), inside, 4),
        *calls_in(chance, range(replicas), (fault.ends_at_s + 4.0, fault.ends_at_s + 8.0), 2),
    ]
    return world_of(chance, House(limits), calls, [fault], replicas=replicas, level=draw_level(chance))


def _seen_open(journal: Journal) -> Iterator[str]:
    """Look for calls that passed flagged while nobody could count, and for all of them in the counters at last."""
    quotas = Quotas(journal)
    spans = quotas.spans(*STORE)
    for span in spans:
        inside = quotas.inside(span)
        before, after = quotas.sent(0.0, span.start), quotas.sent(span.end + 3.0, quotas.quiet_at)
        used_up = all(any(refused(call, 429, "budget_exceeded") for call in calls) for calls in (before, after))
        flagged = any(inside) and all(quotas.passed_uncounted(call) for call in inside)
        plain = [call for call in before if answered(call)]
        if not (used_up and flagged and plain and all(quotas.passed_counted(call) for call in plain)):
            return
    if spans and quotas.is_settled():
        yield "FR2"


def _closed(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    fault, replicas = _outage(chance), chance.between(1, 3)
    rich = LimitsDraft(day=1000 * COST_MAX)
    inside = (fault.at_s + 1.0, fault.ends_at_s - 4.0)
    other = KeyDraft("open", limits=rich)
    calls = [
        *calls_in(chance, range(replicas), (1.0, 8.0), 2),
        *calls_in(chance, range(replicas), inside, 4),
        *calls_in(chance, range(replicas), inside, 2, key="open"),
        *calls_in(chance, range(replicas), (fault.ends_at_s + 4.0, fault.ends_at_s + 8.0), 2),
    ]
    house = House(rich, closed=True, others=(other,))
    return world_of(chance, house, calls, [fault], replicas=replicas, level=draw_level(chance))


def _seen_closed(journal: Journal) -> Iterator[str]:
    """Look for closed calls that were refused and cost nothing, next to open ones that passed."""
    quotas = Quotas(journal)
    spans = quotas.spans(*STORE)
    for span in spans:
        closed, passing = quotas.inside(span), quotas.inside(span, "open")
        told = [refused(call, 503, "budget_unavailable") and asked_nobody(quotas, call) for call in closed]
        sound = [*quotas.sent(0.0, span.start), *quotas.sent(span.end + 3.0, quotas.quiet_at)]
        if not (told and all(told) and passing and all(quotas.passed_uncounted(call) for call in passing)):
            return
        if not (sound and all(quotas.passed_counted(call) for call in sound)):
            return
    if spans:
        yield "FR3"


AWAY_SCENARIOS = (
    Scenario(
        "fr1-rates",
        "while nobody counts no rate is applied",
        ("FR1",),
        _rates,
        _seen_rates,
        partial(felt, name="FR1"),
    ),
    Scenario(
        "fr2-open",
        "while nobody counts a budget that is open passes, flagged",
        ("FR2",),
        _open,
        _seen_open,
        partial(felt, name="FR2"),
    ),
    Scenario(
        "fr3-closed",
        "while nobody counts a budget that is closed refuses",
        ("FR3",),
        _closed,
        _seen_closed,
        partial(felt, name="FR3"),
    ),
)
