"""FR8, FR9, S01, S04, S05: Redis takes what it is asked and answers never, too late, or only just in time.

Over RESP. A reply that comes too late was asked for in vain, but what was asked has taken effect: a slot may be
taken that nobody knows of, until it is given back unheard.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from sim.draft import Draft
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.fleet.leases.away import is_degraded, leaves_alone
from sim.scenarios.fleet.leases.reading import (
    BLINK_S,
    EDGE_S,
    HEARD_S,
    TIMEOUT_S,
    UNKNOWN,
    Slots,
    answered,
    does_without,
    placement_of,
    waited_s,
)
from sim.scenarios.fleet.leases.worlds import (
    BACK_S,
    TTL_S,
    When,
    calls_in,
    drawn,
    long_call,
    machines,
    world_of,
)
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

MINUTE_S = 60.0

GAUGE_S = 6.0
"""The metric of dependencies is looked after every 5 s."""

NEARLY_S = 0.09
"""Nine tenths of the timeout."""

ATTEMPTS_PER_CALL_MAX = 1.1
"""More of them would be a storm of retries."""

AT_ONCE_S = 0.2
"""Calls that come so soon ask Redis before anybody knows that it does not answer."""

UNHEARD_S = 0.05
"""What was granted unheard is given back unheard soon after: the store's counts are noted as often."""

REPLICAS = 2
NODES, SLOTS = 2, 3

TOKEN_S = 0.1
"""Machines that write slowly: answers that outlive leases."""


def _hung(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    return _late(chance, "redis_hung", 0.0, drawn(chance, MINUTE_S, MINUTE_S + 5.0))


def _slow(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    return _late(chance, "redis_slow", drawn(chance, 1.0, 2.5), drawn(chance, 8.0, 20.0))


def _late(chance: Chance, kind: str, amount: float, lasts_s: float) -> Draft:
    starts_s = drawn(chance, 6.0, 9.0)
    ends_s = starts_s + lasts_s
    during, after = When(starts_s, ends_s - EDGE_S), When(ends_s + BACK_S, ends_s + BACK_S + 5.0)
    calls = [
        *calls_in(chance, REPLICAS, When(0.5, starts_s - 1.0), 2),
        *calls_in(chance, REPLICAS, When(starts_s, starts_s + AT_ONCE_S), 1),
        *calls_in(chance, REPLICAS, during, chance.between(4, 9)),
        *calls_in(chance, REPLICAS, during, chance.between(2, 4), "nodes_only"),
        *calls_in(chance, REPLICAS, after, 2),
        *(long_call(starts_s - 2.0, drawn(chance, 18.0, 40.0), TOKEN_S, gateway=one) for one in range(REPLICAS)),
    ]
    nodes = machines(chance, NODES, slots=8, token_s=TOKEN_S)
    fault = Fault(kind, "", starts_s, lasts_s, amount)
    return world_of(chance, REPLICAS, nodes, calls, (fault,), runs_s=ends_s + BACK_S + 30.0)


def _seen_hung(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    outages = slots.spans("redis_hung")
    if outages and all(_waits_once(slots, outage) for outage in outages):
        yield "FR8"
        if all(leaves_alone(slots, outage) for outage in outages):
            yield "FR7"
        if _minutes(journal) and all(_is_told(slots, one) and _writes_on(slots, one) for one in outages):
            yield "S01"


def _minutes(journal: Journal) -> bool:
    return any(span.end - span.start >= MINUTE_S for span in Slots(journal).spans("redis_hung"))


def _active_hung(journal: Journal) -> Iterator[str]:
    if _minutes(journal):
        yield "S01"


def _seen_slow(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    outages = slots.spans("redis_slow")
    if outages and all(_waits_once(slots, one) and is_degraded(slots, one) for one in outages):
        yield "FR9"


def _waits_once(slots: Slots, outage: Span) -> bool:
    """Tell whether a call waited for one timeout at most, none once Redis is left alone, and did without it."""
    calls = slots.sent(outage.start, outage.end - EDGE_S)
    silent_from = {host: slots.first_unknown_at(host, outage.start, "silenced") for host in slots.hosts}
    later = [story for story in calls if story.call.sent_at >= silent_from[story.call.gateway]]
    return (
        bool(later)
        and all(does_without(slots, story) for story in calls)
        and any(waited_s(story) >= NEARLY_S for story in calls)
        and all(waited_s(story) <= TIMEOUT_S + BLINK_S for story in calls)
        and all(waited_s(story) <= BLINK_S for story in later)
    )


def _is_told(slots: Slots, outage: Span) -> bool:
    """Tell whether metric, counter and readiness say at every gateway that Redis is gone, and that it is back."""
    if not is_degraded(slots, outage):
        return False
    for host in slots.hosts:
        gauges = [
            (fact.at, fact.members["value"])
            for fact in slots.journal.of("gauge")
            if fact.host == host and (fact.members["name"], fact.members["label"]) == ("dependency_up", "redis")
        ]
        gone = [at for at, up in gauges if not up and outage.start <= at <= outage.start + GAUGE_S]
        back = [at for at, up in gauges if up and outage.end <= at <= outage.end + GAUGE_S]
        failed = slots.first_unknown_at(host, outage.start, "timeout")
        if not gone or not back or failed > outage.end:
            return False
    return True


def _writes_on(slots: Slots, outage: Span) -> bool:
    """Tell whether answers that were under way for longer than a lease can live unrenewed came to their end."""
    calls = [story for story in slots.sent(0.0, outage.start) if story.call.over_at > outage.start + TTL_S]
    return bool(calls) and all(slots.by_node(story) for story in calls)


def _nearly(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    starts_s, lasts_s = drawn(chance, 4.0, 7.0), drawn(chance, 15.0, 30.0)
    ends_s = starts_s + lasts_s
    calls = [
        *calls_in(chance, REPLICAS, When(0.5, starts_s - 1.0), 2),
        *calls_in(chance, REPLICAS, When(starts_s, ends_s - EDGE_S), chance.between(15, 25)),
        *calls_in(chance, REPLICAS, When(ends_s + BACK_S, ends_s + BACK_S + 5.0), 2),
    ]
    fault = Fault("redis_slow", "", starts_s, lasts_s, NEARLY_S)
    nodes = machines(chance, NODES, slots=12)
    return world_of(chance, REPLICAS, nodes, calls, (fault,), runs_s=ends_s + BACK_S + TTL_S + 8.0)


def _active_nearly(journal: Journal) -> Iterator[str]:
    if any(fact.members.get("amount") == NEARLY_S for fact in journal.of("fault")):
        yield "S04"


def _seen_nearly(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    outages = slots.spans("redis_slow")
    if outages and all(_holds_budget(slots, outage) and _no_storm(slots, outage) for outage in outages):
        yield "S04"


def _holds_budget(slots: Slots, outage: Span) -> bool:
    """Tell whether every call was answered, after one timeout at most, and most of them by nodes."""
    calls = slots.sent(outage.start + HEARD_S, outage.end - EDGE_S)
    late_grants = [story for story in calls if slots.by_node(story) and waited_s(story) >= NEARLY_S]
    return (
        2 * len(late_grants) > len(calls) > 0
        and all(answered(story) for story in calls)
        and all(waited_s(story) <= TIMEOUT_S + BLINK_S for story in calls)
    )


def _no_storm(slots: Slots, outage: Span) -> bool:
    """Tell whether nobody asked targets, or for slots, more often than there were calls; and nothing leaks."""
    calls = slots.sent(outage.start, outage.end - EDGE_S)
    asked = sum(
        outage.start <= fact.at < outage.end
        and (fact.kind != "leases_unknown" or fact.members["operation"] == "take")
        for fact in slots.journal.of("lease_taken", "lease_refused", "leases_unknown")
    )
    dialled = sum(len(story.dials) for story in calls)
    most = ATTEMPTS_PER_CALL_MAX * len(calls) + 1
    return dialled <= most and asked <= most and slots.counts_are_right(outage.end + TTL_S + HEARD_S)


def _lost(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    starts_s, lasts_s = drawn(chance, 6.0, 8.0), drawn(chance, 2.5, 6.0)
    ends_s = starts_s + lasts_s
    full_s = ends_s + TTL_S + 2.0
    calls = [
        *calls_in(chance, REPLICAS, When(0.5, starts_s - 3.0), 2),
        # Grants that nobody hears of: the first calls after the replies got lost.
        *calls_in(chance, REPLICAS, When(starts_s, starts_s + AT_ONCE_S), 2),
        *calls_in(chance, REPLICAS, When(starts_s, ends_s - EDGE_S), chance.between(2, 4)),
        # Releases that nobody hears of: answers that end in the fault.
        *(
            long_call(starts_s - 2.0, drawn(chance, 2.3, 2.0 + lasts_s / 2), 0.03, gateway=one)
            for one in range(REPLICAS)
        ),
        # As many answers at once as there are slots.
        *(
            long_call(full_s + drawn(chance, 0.0, 0.4), 6.0, 0.03, gateway=number % REPLICAS)
            for number in range(NODES * SLOTS)
        ),
    ]
    fault = Fault("redis_slow", "", starts_s, lasts_s, drawn(chance, 0.12, 1.5))
    nodes = machines(chance, NODES, slots=SLOTS)
    draft = world_of(chance, REPLICAS, nodes, calls, (fault,), runs_s=full_s + 14.0)
    return replace(draft, knobs=replace(draft.knobs, sample_s=UNHEARD_S))


def _losses(slots: Slots) -> tuple[list[float], list[float]]:
    """Give when grants and releases were asked for whose replies got lost, though they took effect."""
    spans = slots.spans("redis_slow")
    granted = [
        fact.at
        for fact in slots.journal.of("leases_unknown")
        if (fact.members["operation"], fact.members["failure"]) == ("take", "timeout")
        and any(span.start <= fact.at <= span.end + EDGE_S for span in spans)
    ]
    released = [
        lease.released_at
        for lease in slots.leases
        if any(span.start <= lease.released_at < span.end - EDGE_S for span in spans)
    ]
    return granted, released


def _active_lost(journal: Journal) -> Iterator[str]:
    if all(_losses(Slots(journal))):
        yield "S05"


def _seen_lost(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    spans = slots.spans("redis_slow")
    if (
        spans
        and all(_losses(slots))
        and _was_counted_unheard(slots, spans[0])
        and _went_on(slots, spans[0])
        and slots.counts_are_right(spans[-1].end + TTL_S + HEARD_S)
        and _all_slots_serve(slots, spans[-1].end + TTL_S)
    ):
        yield "S05"


def _was_counted_unheard(slots: Slots, span: Span) -> bool:
    """Tell whether the store once counted more than all gateways together knew of."""
    return any(fact.number("busy") > high for fact, _, high in slots.counts(span.start, span.end + TTL_S))


def _went_on(slots: Slots, span: Span) -> bool:
    """Tell whether the calls whose grants were not heard of were answered elsewhere, once."""
    calls = [
        story
        for story in slots.sent(span.start, span.end - EDGE_S)
        if UNKNOWN in story.attempts and placement_of(story) is None
    ]
    return bool(calls) and all(slots.by_cloud(story) and len(story.dials) == 1 for story in calls)


def _all_slots_serve(slots: Slots, since: float) -> bool:
    """Tell whether every slot of every node was held at one moment, by calls that did not have to wait."""
    calls = slots.sent(since, slots.watch.phases.get("heal", math.inf), "nodes_only")
    wanted = sum(slots.slots.values())
    moments = [lease.taken_at for lease in slots.leases if lease.taken_at >= since]
    most = max((sum(lease.held(at, at) for lease in slots.leases) for at in moments), default=0)
    return (
        len(calls) == most == wanted
        and all(slots.by_node(story) for story in calls)
        and all(waited_s(story) <= 2 * TIMEOUT_S for story in calls)
    )


LATE_SCENARIOS = (
    Scenario(
        "redis-hung",
        "a Redis that hangs for a minute costs one timeout",
        ("FR7", "FR8", "S01"),
        _hung,
        _seen_hung,
        _active_hung,
    ),
    Scenario("redis-slow", "a Redis that is far too slow is one that hangs", ("FR9",), _slow, _seen_slow),
    Scenario(
        "redis-nearly-slow",
        "a Redis that only just answers in time makes no storm",
        ("S04",),
        _nearly,
        _seen_nearly,
        _active_nearly,
    ),
    Scenario(
        "redis-lost-replies",
        "a grant or a release whose reply is lost leaks no slot",
        ("S05",),
        _lost,
        _seen_lost,
        _active_lost,
    ),
)
