"""I4: never more live leases on a node than it has slots, and no node is asked without one.

A lease is its member id: it lives from being taken to being released, to the end of its gateway's process where
leases are kept per process (`setting` leases_shared is false), and for `lease_ttl_s` at most where there is such a
setting. Each attempt at a node takes a lease of its own before it asks.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sim.checkers.violation import Violation
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I4"
TITLE = "never more live leases on a node than slots"


@dataclass(frozen=True, slots=True)
class _Held:
    gateway: str
    node: str
    until: float


def check(journal: Journal) -> Iterator[Violation]:
    """Find slots granted twice, leases granted twice, and nodes asked without a lease."""
    watch = watch_of(journal)
    yield from _never_more_than_slots(watch, journal)
    yield from _nobody_asks_without(watch, journal)


def _never_more_than_slots(watch: Watch, journal: Journal) -> Iterator[Violation]:
    shared = watch.text("leases_shared") in ("True", "true", "1")
    ttl_s = watch.number("lease_ttl_s", math.inf)
    held: dict[str, _Held] = {}
    for fact in journal.of("lease_taken", "lease_released", "host_crashed", "host_stopped"):
        if fact.kind == "lease_taken":
            if shared or not watch.host(fact.host).doubled(fact.at):
                yield from _taken(watch, fact, held, shared=shared)
            held[fact.text("lease")] = _Held(fact.host, fact.text("node"), fact.at + ttl_s)
        elif fact.kind == "lease_released":
            held.pop(fact.text("lease"), None)
        elif not shared and (fact.kind == "host_crashed" or not watch.host(fact.host).doubled(fact.at)):
            for lease in [lease for lease, one in held.items() if one.gateway == fact.host]:
                del held[lease]


def _taken(watch: Watch, fact: Fact, held: dict[str, _Held], *, shared: bool) -> Iterator[Violation]:
    lease, node = fact.text("lease"), fact.text("node")
    live = [
        name
        for name, one in held.items()
        if one.node == node and one.until > fact.at and (shared or one.gateway == fact.host)
    ]
    if lease in live:
        yield Violation(CODE, fact.at, f"{fact.host} took lease {lease} of {node}, which is held already")
    slots = int(min(fact.number("slots"), watch.most(f"slots:{node}", math.inf)))
    if len(live) >= slots:
        what = f"{fact.host} took lease {lease} of {node}, whose {slots} slots are held by {', '.join(live)}"
        yield Violation(CODE, fact.at, what)


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
        elif leases_are_noted and not fact.has("cloud") and int(fact.number("exchange")) not in repeated:
            between = (fact.text("gateway"), fact.text("target"))
            asked[between] += 1
            if asked[between] > taken[between]:
                what = f"{between[0]} asked {between[1]} (exchange {fact.members['exchange']}) without a lease"
                yield Violation(CODE, fact.at, what, str(fact.members["call"] or ""))
