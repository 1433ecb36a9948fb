"""What a replica tells a balancer of itself; a part of I12.

One that leaves is not ready, from its first signal on (FG1). One that runs, whose database answers and whose
stored catalogue compiles, is ready: a balancer that takes sound replicas out makes an outage of its own (FP6 to
FP8). A probe that got no answer says nothing.
"""

import math
from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.fact import Fact
from sim.journal.hosts import Host
from sim.journal.journal import Journal
from sim.journal.spans import any_overlaps
from sim.journal.watch import Watch

CODE = "I12"

AT_ONCE_S = 0.1
"""A probe that was under way when the signal came may be answered as before; a frozen one has not heard it yet."""

SETTLES_S = 30.0
"""Starting, or finding the database again, may take this long."""

OUTAGES = (
    "postgres_away",
    "postgres_failover",
    "postgres_hung",
    "postgres_slow",
    "keys_locked",
    "feed_lost",
)


def check_readiness(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Find replicas that call themselves ready as they leave, and sound ones that do not."""
    compiles_since = -SETTLES_S
    for fact in journal.of("readyz", "catalogue_applied"):
        if fact.kind == "catalogue_applied":
            compiles_since = fact.at if fact.has("valid") else math.inf
            continue
        host, status = watch.host(fact.host), fact.number("status")
        if _leaves(host, fact.at):
            if fact.has("ready"):
                yield Violation(CODE, fact.at, f"{fact.host} calls itself ready although it leaves")
        elif status not in (0, 200) and fact.at - compiles_since > SETTLES_S and _is_sound(watch, host, fact):
            what = f"{fact.host} is not ready ({fact.text('reasons')}) although nothing is wrong"
            yield Violation(CODE, fact.at, what)


def _leaves(host: Host, at: float) -> bool:
    return any(
        begun + AT_ONCE_S + host.stood_still_s(begun, at) < at and not any(begun <= end <= at for end in host.ends)
        for begun in host.drains
    )


def _is_sound(watch: Watch, host: Host, fact: Fact) -> bool:
    """Tell whether it has run, thawed and with its database, long enough to know it."""
    since = fact.at - SETTLES_S
    if host.changed(since, fact.at) or host.stood_still_s(since, fact.at):
        return False
    return not any_overlaps(watch.fault_spans(*OUTAGES), since, fact.at)
