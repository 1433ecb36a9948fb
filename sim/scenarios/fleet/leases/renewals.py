"""S17 and S18: a gateway stands still, its lease ends during a long answer, or just as it is renewed.

The answer goes on whatever the book-keeping says; others may have been granted its slot meanwhile, and then nobody
is until the count fits. At both levels: the rules are those of either store.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import CallDraft, Draft, Level
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.fleet.leases.empty import fits_when_granted
from sim.scenarios.fleet.leases.reading import BLINK_S, HEARD_S, Lease, Slots, waited_s
from sim.scenarios.fleet.leases.worlds import TTL_S, When, calls_in, drawn, long_call, machines, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

TOKEN_S = 0.1

PATIENCE_MS = 200_000
"""So long calls wait for the only slot."""

TICK_S = 5.0
"""Gateways renew every 5 s, counted from their start, which is that of the journal."""

FIRST_S = 1.0
"""Calls and faults of a draft begin so much later than the journal."""

NEAR_S = 0.5
"""A renewal that comes so close to the end of its lease raced it."""


def _lost(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    level = chance.pick((Level.PORTS, Level.WIRE))
    stops_s, still_s = drawn(chance, 4.0, 8.0), drawn(chance, 16.5, 21.0)
    goes_on_s = stops_s + still_s
    # At the ports a machine waits for whoever takes its answer; on the wire it writes on.
    runs_s = stops_s + (still_s if level is Level.WIRE else 0.0) + drawn(chance, 8.0, 12.0)
    others_from_s = chance.pick((stops_s + 9.0, goes_on_s + TICK_S + HEARD_S))
    return _world(
        chance,
        (
            long_call(1.0, runs_s, TOKEN_S),
            *(
                long_call(others_from_s + drawn(chance, 0.0, 8.0), drawn(chance, 3.0, 7.0), TOKEN_S, gateway=1)
                for _ in range(3)
            ),
            *calls_in(chance, 2, When(goes_on_s + 0.3, goes_on_s + 2.0), 1, "nodes_only"),
            *calls_in(chance, 1, When(goes_on_s + TICK_S + HEARD_S, goes_on_s + 9.0), 2, "nodes_only"),
        ),
        Fault("lag", "gw1", stops_s, 0.0, still_s),
        level,
    )


def _race(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    ticks = chance.between(2, 3)
    renewed_s = ticks * TICK_S - FIRST_S
    stops_s = renewed_s + drawn(chance, 0.5, 4.0)
    ends_s = renewed_s + TTL_S + drawn(chance, -0.25, 0.3)
    return _world(
        chance,
        (
            long_call(renewed_s - drawn(chance, 0.5, 3.5), 40.0, TOKEN_S),
            *(
                long_call(renewed_s + drawn(chance, 5.0, 13.0), drawn(chance, 4.0, 9.0), TOKEN_S, gateway=1)
                for _ in range(2)
            ),
        ),
        Fault("lag", "gw1", stops_s, 0.0, round(ends_s - stops_s, 3)),
        chance.pick((Level.PORTS, Level.WIRE)),
    )


def _world(chance: Chance, calls: tuple[CallDraft, ...], fault: Fault, level: Level) -> Draft:
    nodes = machines(chance, 1, slots=1, real_slots=3, token_s=TOKEN_S)
    draft = world_of(
        chance,
        2,
        nodes,
        calls,
        (fault,),
        runs_s=fault.at_s + fault.amount + 75.0,
        level=level,
    )
    return replace(draft, queue_timeout_ms=PATIENCE_MS)


def _active_lost(journal: Journal) -> Iterator[str]:
    if Slots(journal).renewals("regained", "over"):
        yield "S17"


def _seen_lost(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    found = slots.renewals("regained", "over")
    if found and all(_goes_on(slots, lease, at) for lease, at in found) and _is_used_again(slots, found[0][1]):
        yield "S17"


def _goes_on(slots: Slots, lease: Lease, found_at: float) -> bool:
    """Tell whether the answer came to its end, and who came meanwhile got nothing until the count fitted."""
    story = slots.story_of(lease)
    granted = [other for other in slots.on(lease.node) if other.taken_at > found_at]
    waiting = [
        story
        for story in slots.sent(0.0, lease.released_at)
        if story.call.sent_at + waited_s(story) > max(found_at, story.call.sent_at + HEARD_S)
    ]
    return (
        story is not None
        and story.answered_by == lease.node
        and lease.released_at > found_at
        and bool(waiting)
        and bool(granted)
        and all(fits_when_granted(slots, other) for other in granted)
    )


def _is_used_again(slots: Slots, since: float) -> bool:
    """Tell whether calls that waited were answered by the node in the end."""
    calls = [story for story in slots.stories if story.call.over_at > since]
    return len(calls) > 1 and all(slots.by_node(story) for story in calls)


def _raced(slots: Slots) -> list[tuple[Lease, float, float, str]]:
    """Give the leases whose renewal came close to their end: with that end, the renewal, and what it found."""
    found = []
    for lease in slots.leases:
        for at, how in lease.renewed:
            ends_at = lease.last_until(at) + TTL_S
            if abs(at - ends_at) <= NEAR_S:
                found.append((lease, ends_at, at, how))
    return found


def _active_race(journal: Journal) -> Iterator[str]:
    if _raced(Slots(journal)):
        yield "S18"


def _seen_race(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    raced = _raced(slots)
    if raced and all(_one_of_them(slots, *each) for each in raced) and _is_used_again(slots, raced[0][1]):
        yield "S18"


def _one_of_them(slots: Slots, lease: Lease, ends_at: float, renewed_at: float, how: str) -> bool:
    """Tell whether the lease lived on and nobody got its slot, or had ended and was found so."""
    since, until = ends_at - BLINK_S, renewed_at + BLINK_S
    between = [other for other in slots.on(lease.node) if since <= other.taken_at <= until]
    later = [other for other in slots.on(lease.node) if other.taken_at > until]
    match how:
        case "kept":
            right = renewed_at <= ends_at + BLINK_S and not between
        case "regained":
            right = renewed_at >= ends_at - BLINK_S and not between
        case _:
            right = renewed_at >= ends_at - BLINK_S and len(between) == 1
    story = slots.story_of(lease)
    return (
        right
        and story is not None
        and story.answered_by == lease.node
        and bool(later)
        and all(fits_when_granted(slots, other) for other in later)
    )


RENEWAL_SCENARIOS = (
    Scenario(
        "s17-renewal-lost",
        "an answer goes on although its lease ended; nothing is granted until the count fits",
        ("S17",),
        _lost,
        _seen_lost,
        _active_lost,
    ),
    Scenario(
        "s18-renewal-race",
        "a renewal that races the end of its lease wins or is found too late",
        ("S18",),
        _race,
        _seen_race,
        _active_race,
    ),
)
