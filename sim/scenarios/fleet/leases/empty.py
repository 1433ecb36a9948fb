"""FR11, S02, S03: Redis comes back without its memory, or without the last writes.

Over RESP, since scripts have to be loaded again. Empty: nothing new is granted for one renewal period, in which
whoever writes an answer takes its slot up again. Failed over: what is lost is taken up again too, but others may
have been faster; then nothing is granted on that node until the count fits.
"""

import math
from collections.abc import Iterator

from sim.draft import Draft
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.fleet.leases.reading import (
    EDGE_S,
    HEARD_S,
    Lease,
    Slots,
    does_without,
    placement_of,
)
from sim.scenarios.fleet.leases.worlds import (
    BACK_S,
    GRACE_S,
    TTL_S,
    When,
    calls_in,
    drawn,
    long_call,
    machines,
    world_of,
)
from sim.scenarios.scenario import Scenario
from sim.scenarios.showing import Story
from sim.seed import Seed

RENEW_S = 5.0
"""How often a gateway renews what it holds."""

REPLICAS = 2
NODES, SLOTS = 2, 2
RUNNING_S = 30.0
"""Longer than a lease lives, and than all that follows upon the fault."""

TOKEN_S = 0.1


def _empty(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    strikes_s = drawn(chance, 14.0, 19.0)
    away_s = chance.pick((0.0, drawn(chance, 0.2, 2.0), drawn(chance, 4.0, 9.0)))
    back_s = strikes_s + away_s
    young, over = When(back_s, back_s + GRACE_S - EDGE_S), back_s + RUNNING_S + 8.0
    calls = [
        # Most slots are taken by answers under way: a gateway that knows of none that is free asks for none.
        *(
            long_call(strikes_s - drawn(chance, 1.0, 5.0), RUNNING_S + away_s, TOKEN_S, gateway=number % REPLICAS)
            for number in range(NODES * SLOTS)
        ),
        *calls_in(chance, REPLICAS, young, chance.between(3, 6)),
        *calls_in(chance, REPLICAS, young, chance.between(2, 3), "nodes_only"),
        # Whoever grants too early gives away what somebody holds.
        *calls_in(chance, REPLICAS, When(back_s + GRACE_S - EDGE_S, back_s + 2 * GRACE_S), 5, "nodes_only"),
        # No more of them than slots.
        *calls_in(chance, REPLICAS, When(over, over + 6.0), 2),
        *calls_in(chance, REPLICAS, When(over, over + 6.0), 1, "nodes_only"),
    ]
    faults = [
        Fault("redis_empty", "", back_s - chance.uniform(0.1, 1.0) * away_s),
        # From then on its renewals come at other moments than those of the other gateway.
        Fault("crash", "gw1", drawn(chance, 0.5, 4.0), drawn(chance, 0.2, 4.0)),
    ]
    if away_s:
        faults.append(Fault("redis_away", "", strikes_s, away_s))
    nodes = machines(chance, NODES + 1, slots=SLOTS, real_slots=2 * SLOTS, token_s=TOKEN_S)
    return world_of(chance, REPLICAS, nodes, calls, faults, runs_s=over + 14.0)


def _losses(slots: Slots) -> list[float]:
    """Give when a store without its memory could first be asked."""
    away = slots.spans("redis_away")
    lost = [fact.at for fact in slots.journal.of("fault") if fact.members["fault"] == "redis_empty"]
    return [max((span.end for span in away if span.overlaps(at, at)), default=at) for at in lost]


def _seen_empty(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    losses = _losses(slots)
    if losses and all(_keeps_running_ones(slots, at) and _serves_later(slots, at) for at in losses):
        yield "S02"
        if all(_grants_nothing_new(slots, at) for at in losses):
            yield "FR11"


def _running(slots: Slots, at: float) -> list[Lease]:
    return [lease for lease in slots.leases if lease.held_throughout(at, at + GRACE_S + BACK_S)]


def _keeps_running_ones(slots: Slots, back_at: float) -> bool:
    """Tell whether every answer under way, at every gateway, took its slot up again in time and went on."""
    running = _running(slots, back_at)
    return {lease.host for lease in running} == {*slots.hosts} and all(
        _regained(lease, back_at, back_at + GRACE_S) and _finished(slots, lease) for lease in running
    )


def _regained(lease: Lease, since: float, until: float) -> bool:
    return [how for at, how in lease.renewed if since <= at <= until and how != "kept"] == ["regained"]


def _finished(slots: Slots, lease: Lease) -> bool:
    story = slots.story_of(lease)
    return story is not None and story.answered_by == lease.node


def _grants_nothing_new(slots: Slots, back_at: float) -> bool:
    """Tell whether nobody got a slot in the first renewal period, and calls did without.

    One that comes while its gateway knows of no free slot hears of busy nodes instead.
    """
    calls = slots.sent(back_at, back_at + GRACE_S - EDGE_S)
    without = [story for story in calls if does_without(slots, story)]
    return (
        {placement_of(story) for story in without} == {None, "nodes_only"}
        and all(_asks_no_node(slots, story) for story in calls)
        and not any(back_at <= lease.taken_at < back_at + GRACE_S for lease in slots.leases)
    )


def _asks_no_node(slots: Slots, story: Story) -> bool:
    if placement_of(story) == "nodes_only":
        return story.call.status == 503 and not story.asked
    return slots.by_cloud(story)


def _serves_later(slots: Slots, back_at: float) -> bool:
    """Tell whether nodes serve again, by scripts loaded anew, and the counts are those of before."""
    until = slots.watch.phases.get("heal", math.inf)
    since = max((lease.released_at for lease in _running(slots, back_at)), default=math.inf)
    calls = slots.sent(since + HEARD_S, until)
    return (
        {story.call.gateway for story in calls} == {*slots.hosts}
        and all(slots.by_node(story) for story in calls)
        and slots.counts_are_right(back_at + BACK_S + RENEW_S + HEARD_S)
    )


def _failover(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    behind_s, moves_s = drawn(chance, 6.5, 9.0), drawn(chance, 4.0, 8.0)
    switch_s = behind_s + moves_s
    away_s = drawn(chance, 0.1, 1.5)
    calls = [
        *calls_in(chance, REPLICAS, When(0.5, 3.0), 2),
        # Their grants are among the writes that get lost.
        *(
            long_call(behind_s + drawn(chance, 0.2, moves_s - away_s - 0.5), RUNNING_S, TOKEN_S)
            for _ in range(NODES * SLOTS)
        ),
        # The other gateway is granted the same slots, unless their holder is faster.
        *(
            long_call(switch_s + drawn(chance, 0.1, 10.0), drawn(chance, 4.0, 25.0), TOKEN_S, gateway=1)
            for _ in range(10)
        ),
        *calls_in(chance, REPLICAS, When(switch_s + 60.0, switch_s + 66.0), 3),
    ]
    faults = [
        Fault("redis_failover", "", behind_s, moves_s),
        Fault("redis_away", "", round(switch_s - away_s, 3), away_s),
    ]
    nodes = machines(chance, NODES, slots=SLOTS, real_slots=3 * SLOTS, token_s=TOKEN_S)
    return world_of(chance, REPLICAS, nodes, calls, faults, runs_s=switch_s + 75.0)


def _seen_failover(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    spans = slots.spans("redis_failover")
    if spans and all(_takes_up_again(slots, span) and _settles(slots, span) for span in spans):
        yield "S03"


def _takes_up_again(slots: Slots, span: Span) -> bool:
    """Tell whether every lease whose grant was lost was found missing when renewed, and its answer went on."""
    lost = [
        lease
        for lease in slots.leases
        if span.start <= lease.taken_at <= span.end and lease.released_at > span.end + BACK_S + RENEW_S
    ]
    return bool(lost) and all(
        any(
            span.end <= at <= span.end + BACK_S + RENEW_S and how in ("regained", "over")
            for at, how in lease.renewed
        )
        and _finished(slots, lease)
        for lease in lost
    )


def _settles(slots: Slots, span: Span) -> bool:
    """Tell whether no node was granted beyond what fits once it was known, and all is as before in the end."""
    known_at = span.end + BACK_S + RENEW_S
    after = slots.sent(span.end + RUNNING_S + TTL_S, slots.watch.phases.get("heal", math.inf))
    return (
        all(fits_when_granted(slots, lease) for lease in slots.leases if lease.taken_at > known_at)
        and bool(after)
        and all(slots.by_node(story) for story in after)
        and slots.counts_are_right(known_at + TTL_S + HEARD_S)
    )


def fits_when_granted(slots: Slots, granted: Lease) -> bool:
    """Whether a slot of the node was free when this lease was granted, whatever had been granted twice before."""
    at = granted.taken_at
    others = [lease for lease in slots.on(granted.node) if lease.taken_at < at - EDGE_S]
    return sum(min(lease.released_at, lease.orphaned_at) > at for lease in others) < slots.slots[granted.node]


EMPTY_SCENARIOS = (
    Scenario(
        "redis-empty",
        "an empty Redis grants nothing new until running answers have their slots again",
        ("FR11", "S02"),
        _empty,
        _seen_empty,
    ),
    Scenario(
        "redis-failover",
        "slots granted twice after a failover are found, and nothing is granted until they fit",
        ("S03",),
        _failover,
        _seen_failover,
    ),
)
