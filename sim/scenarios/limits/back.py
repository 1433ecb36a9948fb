"""FR10 and FR11: the store that counts is back, with its memory or without; nothing is forgotten."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from sim.draft import CallDraft, Draft, LimitsDraft
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.scenarios.limits.reading import EDGE_S, STORE, Quotas, answered, refused
from sim.scenarios.limits.worlds import ANSWER_MAX, COST_MAX, House, at, call_of, calls_in, draw_level, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

BACK_S = 3.0
"""In use again within this (FR10)."""

TOKEN_S = 0.2

KEPT_S = 1.0
"""What is booked is in a sound ledger within this."""


def _long(chance: Chance, at_s: float, gateway: int) -> CallDraft:
    """Draw a call that lasts for seconds."""
    return call_of(chance, at_s, gateway, tokens=chance.between(20, ANSWER_MAX))


def _returns(seed: Seed) -> Draft:
    """Calls under way when the outage begins end in it, and others begin in it and end after it."""
    chance = seed.chance("draft")
    replicas = chance.between(1, 3)
    kind = chance.pick(STORE)
    fault = Fault(kind, "", at(chance, 10.0, 14.0), at(chance, 6.0, 25.0))
    limits = LimitsDraft(day=1000 * COST_MAX, concurrent=100, tpm=1_000_000)
    calls = [
        *(_long(chance, fault.at_s - at(chance, 0.5, 3.0), number % replicas) for number in range(6)),
        *(_long(chance, fault.at_s + at(chance, 0.5, 4.0), number % replicas) for number in range(4)),
        *(_long(chance, fault.ends_at_s - at(chance, 0.5, 3.0), number % replicas) for number in range(4)),
        *calls_in(chance, range(replicas), (fault.ends_at_s + BACK_S, fault.ends_at_s + 9.0), 3),
    ]
    house = House(limits, token_s=TOKEN_S)
    return world_of(chance, house, calls, [fault], replicas=replicas, level=draw_level(chance))


def _seen_returning(journal: Journal) -> Iterator[str]:
    """Look for calls across the edges of the outage, for counting soon after it, and for sums that are right."""
    quotas = Quotas(journal)
    spans = quotas.spans(*STORE)
    for span in spans:
        across = [one for one in quotas.reserved.of(quotas.key) if one.at < span.start < one.over_at < span.end]
        soon = quotas.sent(span.end + BACK_S, quotas.quiet_at)
        if not (across and soon and all(quotas.passed_counted(call) for call in soon)):
            return
        if any(_is_negative(fact) for fact in quotas.seen(span.end, float("inf"))):
            return
    if spans and quotas.is_settled():
        yield "FR10"


def _is_negative(fact: Fact) -> bool:
    return min(fact.number("running"), fact.number("settled"), fact.number("reserved")) < 0


def _empty(seed: Seed) -> Draft:
    """A budget that is closed, and nearly used up when the store forgets it: it must be read first."""
    chance = seed.chance("draft")
    replicas = chance.between(1, 3)
    fault = Fault("redis_empty", "", at(chance, 20.0, 24.0))
    limits = LimitsDraft(day=8 * COST_MAX)
    calls = [
        *(call_of(chance, at(chance, 1.0, 14.0), number % replicas, tokens=48) for number in range(7)),
        *(call_of(chance, fault.at_s + at(chance, 0.1, 8.0), number % replicas, tokens=48) for number in range(6)),
    ]
    house = House(limits, closed=True)
    return world_of(chance, house, calls, [fault], replicas=replicas, level=draw_level(chance))


def _seen_emptied(journal: Journal) -> Iterator[str]:
    """Look for a read of the ledger before the first reservation, and for a budget that was not exceeded."""
    quotas = Quotas(journal)
    moments = [at for at, on in quotas.watch.faults.get("redis_empty", ()) if on]
    for moment in moments:
        spent = quotas.cost(moment - KEPT_S)
        after = quotas.sent(moment, quotas.quiet_at)
        if spent <= quotas.limit("day") / 2 or not _is_read_first(quotas, moment, spent):
            return
        if not any(refused(call, 429, "budget_exceeded") for call in after):
            return
    if moments and quotas.cost() <= quotas.limit("day") and quotas.is_settled():
        yield "FR11"


def _is_read_first(quotas: Quotas, moment: float, spent: float) -> bool:
    """Whether what was spent was told to the store before anything was reserved of it."""
    told = unread = False
    for fact in quotas.journal.of("quota_unread", "quota_raised", "quota_reserved", "quota_refused"):
        if fact.at < moment:
            continue
        unread = unread or fact.kind == "quota_unread"
        told = told or (fact.kind == "quota_raised" and fact.number("day_micros") >= spent)
        if fact.kind in ("quota_reserved", "quota_refused"):
            return told and unread
    return False


RPM = 4

PATIENCE_S = 3.0
"""So long a call waits for a ledger that hangs, written down apart from the product."""

WAITS_S = 0.5
"""Longer than anything that waits for nobody."""


def _untold(seed: Seed) -> Draft:
    """The store forgets a budget while the ledger hangs: more calls come than their rate allows."""
    chance = seed.chance("draft")
    replicas = chance.between(1, 2)
    hung = Fault("ledger_hung", "", at(chance, 10.0, 12.0), at(chance, 24.0, 30.0))
    empty = Fault("redis_empty", "", hung.at_s + at(chance, 0.5, 2.0))
    inside = (empty.at_s + 6.0, hung.ends_at_s - 6.0)
    calls = [
        *calls_in(chance, range(replicas), (1.0, 6.0), 1),
        *(call_of(chance, at(chance, *inside), number % replicas) for number in range(4 * RPM)),
        *calls_in(chance, range(replicas), (hung.ends_at_s + 8.0, hung.ends_at_s + 16.0), 1),
    ]
    house = House(LimitsDraft(day=1000 * COST_MAX, rpm=RPM))
    return world_of(chance, house, calls, [hung, empty], replicas=replicas, level=draw_level(chance))


def _seen_untold(journal: Journal) -> Iterator[str]:
    """Look for calls that passed flagged and yet within their rates, and for sums that are right at last."""
    quotas = Quotas(journal)
    spans = quotas.spans("ledger_hung")
    for span in spans:
        inside = quotas.sent(span.start + 5.0, span.end - 1.0)
        passed = [call for call in inside if answered(call)]
        flagged = [used for call in passed if (used := quotas.used(call)) is not None and used.uncounted]
        limited = [call for call in inside if refused(call, 429, "rate_limit_exceeded")]
        if not flagged or not limited or len(flagged) < len(passed):
            return
        if not all(quotas.facts("quota_reserved", call) for call in passed):
            return
        if not _one_waits_at_a_time(quotas, inside):
            return
    if spans and quotas.is_settled():
        yield "FR11"


def _one_waits_at_a_time(quotas: Quotas, calls: list[Call]) -> bool:
    """Whether, once the ledger failed a replica, one call in a while waits for it, and all others go on."""
    waited: dict[str, list[float]] = defaultdict(list)
    for call in sorted(calls, key=lambda one: one.sent_at):
        asked = quotas.watch.asked(call)
        if (asked[0].asked.at if asked else call.over_at) - call.sent_at > WAITS_S:
            waited[call.gateway].append(call.sent_at)
    for moments in waited.values():
        known_at = moments[0] + PATIENCE_S + EDGE_S
        trials = [at for at in moments if at > known_at]
        if any(later - earlier < PATIENCE_S for earlier, later in pairwise(trials)):
            return False
    return True


BACK_SCENARIOS = (
    Scenario(
        "fr10-limits",
        "the store is back, and its sums are right",
        ("FR10",),
        _returns,
        _seen_returning,
    ),
    Scenario(
        "fr11-limits",
        "the store forgot what was spent, and reads it first",
        ("FR11",),
        _empty,
        _seen_emptied,
    ),
    Scenario(
        "fr11-untold",
        "the store forgot what was spent, and nobody can tell: rates count all the same",
        ("FR11",),
        _untold,
        _seen_untold,
    ),
)
