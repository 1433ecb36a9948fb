"""What the drafts of these scenarios share: sound targets, calls all along, something wrong with the ledger.

Everything that does not matter for the behaviour is drawn: replicas, targets, the length of answers, the moments.
"""

from collections.abc import Iterator, Sequence

from sim.draft import CallDraft, Draft, Knobs, Level, NodeDraft, VendorDraft
from sim.faults.plan import Fault
from sim.scenarios.books.outage import at, draw_replicas
from sim.seed import Chance

TAIL_S = 25.0
"""How long a world goes on after its last fault, so that what waited is seen to be sent."""


def calls_in(chance: Chance, replicas: int, since_s: float, until_s: float, count: int) -> Iterator[CallDraft]:
    """Draw so many short calls for each gateway within a time."""
    for gateway in range(replicas):
        for _ in range(count):
            yield CallDraft(
                at_s=at(chance, since_s, until_s),
                gateway=gateway,
                streamed=chance.happens(0.6),
                tokens=chance.between(1, 15),
            )


def world_of(
    chance: Chance,
    faults: Sequence[Fault],
    *,
    busy: int,
    spool: bool = False,
    events_max: int = 10_000,
    knobs: Knobs | None = None,
) -> Draft:
    """Make a world with so many calls for each gateway while something is wrong, and a few before and after."""
    replicas = draw_replicas(chance)
    begins_s, ends_s = min(fault.at_s for fault in faults), max(fault.ends_at_s for fault in faults)
    calls = [
        *calls_in(chance, replicas, 0.5, begins_s, 3),
        *calls_in(chance, replicas, begins_s, ends_s, busy),
        *calls_in(chance, replicas, ends_s, ends_s + TAIL_S / 2, 3),
    ]
    return Draft(
        level=Level.PORTS,
        replicas=replicas,
        vendors=tuple(VendorDraft(f"cloud-{letter}") for letter in "ab"[: chance.between(1, 2)]),
        nodes=(NodeDraft("node-1", slots=32, window=None),) if chance.happens(0.4) else (),
        spool=spool,
        knobs=Knobs(usage_events_max=events_max) if knobs is None else knobs,
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=tuple(sorted(faults, key=lambda fault: fault.at_s)),
        runs_s=ends_s + TAIL_S,
    )
