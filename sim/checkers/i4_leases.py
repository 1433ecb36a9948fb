"""I4: never more live leases on a node than it has slots, none is lost while held, and no node is asked without.

What must and what may be held at a moment is in `held.py`. Each attempt at a node takes a lease of its own before
it asks; a token that only loads a model needs none. A lease that was taken up again on a full node (`over`) is
excused, but nothing new is granted there until the count fits. After a crash a slot is free again within one
`lease_ttl_s` and a second: it is refused to nobody then, and the store counts it no more.
"""

import math
from collections import Counter
from collections.abc import Iterator

from sim.checkers.held import HEARD_S, Leases, around
from sim.checkers.violation import Violation
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I4"
TITLE = "never more live leases on a node than slots"

RECENTLY_S = 0.3
"""Two answers of the store may be noted in the other order by two gateways within this."""


def check(journal: Journal) -> Iterator[Violation]:
    """Find slots granted twice, leases granted twice or lost, slots that stay taken, and nodes asked without."""
    watch = watch_of(journal)
    leases = Leases(watch, journal)
    for fact in journal.of("lease_taken", "lease_refused", "slots_seen"):
        match fact.kind:
            case "lease_taken":
                yield from _taken(watch, leases, fact)
            case "lease_refused":
                yield from _refused(watch, leases, fact)
            case _:
                yield from _counted(leases, fact)
    yield from _nobody_asks_without(watch, journal)


def _taken(watch: Watch, leases: Leases, fact: Fact) -> Iterator[Violation]:
    lease, node = fact.text("lease"), fact.text("node")
    if not leases.shared and watch.host(fact.host).doubled(fact.at):
        return
    live = []
    for held in leases.near(leases.place(fact.host, node), fact.at):
        if held.taken is fact:
            break
        if leases.must_be_held(held, fact.at) and not around(held.taken_up_at, fact.at, RECENTLY_S):
            live.append(held.lease)
    if lease in live:
        yield Violation(CODE, fact.at, f"{fact.host} took lease {lease} of {node}, which is held already")
    slots = int(min(fact.number("slots"), watch.most(f"slots:{node}", math.inf)))
    if len(live) >= slots:
        what = f"{fact.host} took lease {lease} of {node}, whose {slots} slots are held by {', '.join(live)}"
        yield Violation(CODE, fact.at, what)


def _refused(watch: Watch, leases: Leases, fact: Fact) -> Iterator[Violation]:
    """Hold a refusal against what may be held: a slot that came back long ago must be granted."""
    host = watch.host(fact.host)
    if leases.unclear(fact.at) or host.stood_still_s(fact.at - HEARD_S, fact.at) > 0 or host.doubled(fact.at):
        return
    nodes, slots = fact.text("nodes").split(), str(fact.members["slots"]).split()
    for node, count in zip(nodes, slots, strict=False):
        most = _most(leases, leases.place(fact.host, node), node, fact.at)
        if most < int(count):
            what = f"{fact.host} was refused {node}, of whose {count} slots at most {most} can be taken"
            yield Violation(CODE, fact.at, what)


def _counted(leases: Leases, fact: Fact) -> Iterator[Violation]:
    """Hold what the store counts against what must and what may be held."""
    node, busy = fact.text("node"), int(fact.number("busy"))
    if not leases.shared or leases.unclear(fact.at):
        return
    on = [held for held in leases.near(node, fact.at) if held.taken_at < fact.at]
    must = [held.lease for held in on if leases.must_be_held(held, fact.at)]
    if busy < len(must):
        what = f"the store counts {busy} slots of {node} as taken; held are {', '.join(must)}"
        yield Violation(CODE, fact.at, what)
    most = _most(leases, node, node, fact.at)
    if busy > most:
        yield Violation(
            CODE, fact.at, f"the store counts {busy} slots of {node} as taken, held are {most} at most"
        )


def _most(leases: Leases, place: str, node: str, at: float) -> int:
    held = sum(leases.may_be_held(held, at) for held in leases.near(place, at))
    return held + leases.strays(node, at)


def _nobody_asks_without(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Count, as time goes on, the attempts at a node that have begun and the leases taken for them."""
    repeated = {exchange.number for exchange in watch.exchanges if exchange.repeated}
    taken: Counter[tuple[str, str]] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    leases_are_noted = False
    for fact in journal.of("lease_taken", "lease_refused", "asked"):
        if fact.kind != "asked":
            leases_are_noted = True
            if fact.kind == "lease_taken":
                taken[fact.host, fact.text("node")] += 1
        elif leases_are_noted and _needs_a_lease(fact) and int(fact.number("exchange")) not in repeated:
            between = (fact.text("gateway"), fact.text("target"))
            asked[between] += 1
            if asked[between] > taken[between]:
                what = f"{between[0]} asked {between[1]} (exchange {fact.members['exchange']}) without a lease"
                yield Violation(CODE, fact.at, what, str(fact.members["call"] or ""))


def _needs_a_lease(asked: Fact) -> bool:
    return not asked.has("cloud") and bool(asked.members["call"])
