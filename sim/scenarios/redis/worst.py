"""S10: Redis hangs, Postgres is away and a node flaps, all at once; the most that is left still answers.

Keys that were verified before work, calls that may go to the cloud go there and wait for Redis once at most, and
whoever asks for nodes alone is told that nobody knows. When it is over all is as before, and all is accounted for.
"""

from collections.abc import Iterator

from sim.draft import CallDraft, Draft, Engine, Knobs, Level, NodeDraft
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.reading import AWAY
from sim.scenarios.fleet.leases.reading import (
    BLINK_S,
    EDGE_S,
    TIMEOUT_S,
    Slots,
    answered,
    does_without,
    waited_s,
)
from sim.scenarios.fleet.leases.worlds import BACK_S, When, calls_in, drawn, machines, vendors
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

HUNG = "redis_hung"

FLAPS_EVERY_S = 3.0
"""Half of it the node is there."""

CONVERGED_S = 45.0
"""A node that was down is asked again once looks have found it well for some time."""

SUSPECT = 1


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(1, 2)
    starts_s, lasts_s = drawn(chance, 22.0, 26.0), drawn(chance, 15.0, 25.0)
    ends_s = round(starts_s + lasts_s, 3)
    flaps = [
        fault
        for turn in range(int((ends_s - 6.0) / FLAPS_EVERY_S))
        for fault in _flap(chance, round(6.0 + FLAPS_EVERY_S * turn, 3))
    ]
    faults = (*flaps, Fault(HUNG, "", starts_s, lasts_s), Fault(AWAY, "", starts_s - 1.0, lasts_s + 2.0))
    after_s = ends_s + CONVERGED_S
    calls = [
        *(_often(chance, replicas, 0.5, ends_s)),
        *calls_in(chance, replicas, When(starts_s + 1.0, ends_s - 1.0), 3, "nodes_only"),
        *calls_in(chance, replicas, When(after_s, after_s + 5.0), 6),
    ]
    return Draft(
        level=Level.WIRE,
        replicas=replicas,
        vendors=vendors(chance),
        nodes=(
            NodeDraft("node-0", engine=Engine.VLLM, slots=8, window=None, first_token_s=0.1, token_s=0.01),
            *machines(chance, 2, slots=8)[1:],
        ),
        knobs=Knobs(poll_s=1.0, sample_s=1.0),
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=tuple(sorted(faults, key=lambda fault: fault.at_s)),
        runs_s=after_s + 8.0,
    )


def _flap(chance: Chance, at_s: float) -> tuple[Fault, ...]:
    """Let the node be in trouble once: it fails, or is gone with all its connections."""
    lasts_s = FLAPS_EVERY_S / 2
    if chance.happens(0.5):
        return (Fault("status", "node-0", at_s, lasts_s, 500.0),)
    return Fault("refuse", "node-0", at_s, lasts_s), Fault("reset", "node-0", at_s)


def _often(chance: Chance, replicas: int, since_s: float, until_s: float) -> Iterator[CallDraft]:
    """Let calls come all the while, so that every key is known and every state is met."""
    for gateway in range(replicas):
        at_s = since_s
        while at_s < until_s:
            yield CallDraft(at_s=round(at_s, 3), gateway=gateway, tokens=chance.between(1, 15))
            at_s += chance.uniform(0.4, 1.2)


def _worst(slots: Slots) -> list[Span]:
    """Give when Redis hung and Postgres was away at once."""
    return [
        Span(max(one.start, other.start), min(one.end, other.end))
        for one in slots.spans(HUNG)
        for other in slots.spans(AWAY)
        if one.overlaps(other.start, other.end)
    ]


def _active(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    flaps = slots.watch.fault_spans("refuse", "status")
    if _worst(slots) and len(flaps) > 1:
        yield "S10"


def _seen(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    worst = _worst(slots)
    if worst and _sheds(slots) and all(_serves(slots, span) and _converges(slots, span) for span in worst):
        yield "S10"


def _sheds(slots: Slots) -> bool:
    """Tell whether calls that met the node that flaps were answered by another, or it was found out before."""
    journal = slots.journal
    return any(story.moved_on_from("node-0") for story in slots.stories) or any(
        fact.number("value") >= SUSPECT
        for fact in journal.of("gauge")
        if (fact.members["name"], fact.members["label"]) == ("node_health", "node-0")
    )


def _serves(slots: Slots, span: Span) -> bool:
    """Tell whether whatever could be answered was, without Redis and with known keys, and nobody waited long."""
    during = slots.sent(span.start, span.end - EDGE_S)
    before = slots.sent(0.0, span.start)
    return (
        bool(during)
        and all(does_without(slots, story) for story in during)
        and all(waited_s(story) <= TIMEOUT_S + BLINK_S for story in during)
        and all(answered(story) or _broke(story.call) for story in before)
    )


def _broke(call: Call) -> bool:
    """Tell whether a stream was under way when its node went off, which nothing can mend."""
    return call.outcome == "error_event"


def _converges(slots: Slots, span: Span) -> bool:
    """Tell whether in the end nodes answer at every gateway, the one that flapped among them."""
    calls = slots.sent(span.end + CONVERGED_S - BACK_S, slots.watch.phases["heal"])
    return {story.call.gateway for story in calls} == {*slots.hosts} and all(
        slots.by_node(story) for story in calls
    )


WORST_SCENARIOS = (
    Scenario("s10-worst", "Redis hangs, Postgres is away, a node flaps", ("S10",), _draft, _seen, _active),
)
