"""FR5, FR6, FR7, FR10, FR14: Redis is away or hangs; nodes are skipped, Redis is left alone, then used again.

Over RESP, so that connections, time limits and the silence after failures are production's own.
"""

from collections.abc import Iterator
from itertools import pairwise

from sim.draft import Draft
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.fleet.leases.reading import (
    BLINK_S,
    EDGE_S,
    Slots,
    refused_unknown,
    skipped_to_cloud,
)
from sim.scenarios.fleet.leases.worlds import (
    BACK_S,
    When,
    calls_in,
    drawn,
    long_call,
    machines,
    world_of,
)
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

KINDS = ("redis_away", "redis_hung")

SILENCE_S = 2.0
"""So long Redis is left alone (FR7)."""

RENEWED_S = 6.0
"""A renewal period, and the time of the renewal itself: what was held through an outage counts again after it."""

PROBES_MIN = 2
"""One probe may be luck."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(1, 3)
    starts_s, lasts_s = drawn(chance, 6.0, 9.0), drawn(chance, 10.0, 18.0)
    ends_s = starts_s + lasts_s
    before, after = When(0.5, starts_s - 1.0), When(ends_s + BACK_S, ends_s + BACK_S + 6.0)
    during = When(starts_s, ends_s - EDGE_S)
    nodes = machines(chance, chance.between(2, 3), slots=8)
    calls = [
        *calls_in(chance, replicas, before, 3),
        *calls_in(chance, replicas, during, chance.between(4, 7)),
        *calls_in(chance, replicas, during, 2, "cloud_first"),
        *calls_in(chance, replicas, during, chance.between(2, 4), "nodes_only"),
        *calls_in(chance, replicas, after, 3),
        *calls_in(chance, replicas, after, 2, "nodes_only"),
        *(
            long_call(starts_s - 2.0, drawn(chance, 4.0, lasts_s + 8.0), 0.03, gateway=one)
            for one in range(replicas)
        ),
    ]
    fault = Fault(chance.pick(KINDS), "", starts_s, lasts_s)
    return world_of(chance, replicas, nodes, calls, (fault,), runs_s=ends_s + BACK_S + 12.0)


def _seen(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    outages = slots.spans(*KINDS)
    for name, shows in (
        ("FR5", _skips),
        ("FR6", _refuses),
        ("FR7", leaves_alone),
        ("FR10", _is_back),
        ("FR14", is_degraded),
    ):
        if outages and all(shows(slots, outage) for outage in outages):
            yield name


def _skips(slots: Slots, outage: Span) -> bool:
    """Tell whether nodes answered before, and while the store was away nobody but the cloud."""
    before = slots.sent(0.0, outage.start - EDGE_S, None)
    first, last = (slots.sent(outage.start, outage.end - EDGE_S, one) for one in (None, "cloud_first"))
    return (
        any(slots.by_node(story) for story in before)
        and bool(first)
        and bool(last)
        and all(skipped_to_cloud(slots, story) for story in (*first, *last))
    )


def _refuses(slots: Slots, outage: Span) -> bool:
    calls = slots.sent(outage.start, outage.end - EDGE_S, "nodes_only")
    return bool(calls) and all(refused_unknown(story) for story in calls)


def leaves_alone(slots: Slots, outage: Span) -> bool:
    """Tell whether every gateway, after failures in a row, turned to Redis no more than once in 2 s.

    Redis itself tells who came; whoever looks for the metric of dependencies counts too.
    """
    return all(_pauses(slots, outage, host) for host in slots.hosts)


def _pauses(slots: Slots, outage: Span, host: str) -> bool:
    silent_from = slots.first_unknown_at(host, outage.start, "silenced")
    failed_at = max(
        (
            fact.at
            for fact in slots.journal.of("leases_unknown")
            if fact.host == host
            and outage.start <= fact.at <= silent_from
            and fact.members["failure"] != "silenced"
        ),
        default=outage.start,
    )
    came = [
        fact.at
        for fact in slots.journal.of("redis_met")
        if fact.members["gateway"] == host
        and fact.members["how"] != "kept"
        and silent_from <= fact.at < outage.end
    ]
    return (
        silent_from < outage.end
        and bool(came)
        and came[0] >= failed_at + SILENCE_S - BLINK_S
        and all(later - earlier >= SILENCE_S - BLINK_S for earlier, later in pairwise(came))
    )


def _is_back(slots: Slots, outage: Span) -> bool:
    """Tell whether nodes answer 3 s after the store is back, at every gateway, and its counts are right again."""
    back_at = outage.end + BACK_S
    calls = slots.sent(back_at, slots.watch.phases["heal"])
    return (
        {story.call.gateway for story in calls} == {*slots.hosts}
        and all(slots.by_node(story) for story in calls)
        and slots.counts_are_right(back_at + RENEWED_S)
    )


def is_degraded(slots: Slots, outage: Span) -> bool:
    """Tell whether every gateway stayed ready and said degraded, for this reason, as soon as it knew."""
    return all(_tells(slots, outage, host) for host in slots.hosts)


def _tells(slots: Slots, outage: Span, host: str) -> bool:
    knew_at = slots.first_unknown_at(host, outage.start) + BLINK_S
    before, during = slots.told(host, 0.0, outage.start), slots.told(host, knew_at, outage.end)
    after = slots.told(host, outage.end + BACK_S + 1.0, slots.watch.phases["heal"])
    return (
        len(during) >= PROBES_MIN
        and all(fact.members["status"] == 200 for fact in slots.told(host, outage.start, outage.end))
        and all(fact.members.get("state") == "degraded" for fact in during)
        and all("redis_away" in fact.text("reasons").split() for fact in during)
        and bool(before)
        and bool(after)
        and all(fact.members.get("state") == "ok" for fact in (*before, *after))
    )


AWAY_SCENARIOS = (
    Scenario(
        "redis-away",
        "without Redis nodes are skipped, Redis left alone, and both used again",
        ("FR5", "FR6", "FR7", "FR10", "FR14"),
        _draft,
        _seen,
    ),
)
