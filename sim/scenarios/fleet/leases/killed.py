"""FG3: a replica is killed while it holds slots; they come back within one time to live, nothing is paid twice.

Over HTTP and RESP: its connections end with it, its leases do not.
"""

from collections import Counter
from collections.abc import Iterator

from sim.draft import Draft
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.fleet.leases.empty import fits_when_granted
from sim.scenarios.fleet.leases.reading import HEARD_S, Lease, Slots
from sim.scenarios.fleet.leases.worlds import TTL_S, When, calls_in, drawn, long_call, machines, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

NODES, SLOTS = 2, 2

TOKEN_S = 0.1

SURE_S = 9.0
"""A lease that was renewed every 5 s lives for at least so long after its gateway's death."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(2, 3)
    dies_s = drawn(chance, 6.0, 14.0)
    free_s = dies_s + TTL_S + 2 * HEARD_S
    calls = [
        # The one that dies holds every slot.
        *(long_call(dies_s - drawn(chance, 1.0, 5.5), 40.0, TOKEN_S) for _ in range(NODES * SLOTS)),
        *(
            call
            for call in calls_in(chance, replicas, When(dies_s + 0.2, dies_s + SURE_S), chance.between(4, 8))
            if call.gateway
        ),
        *(
            call
            for call in calls_in(chance, replicas, When(dies_s + SURE_S, free_s), 3, "nodes_only")
            if call.gateway
        ),
        *calls_in(chance, replicas, When(free_s, free_s + 16.0), 3),
    ]
    nodes = machines(chance, NODES, slots=SLOTS, real_slots=2 * SLOTS, token_s=TOKEN_S)
    fault = Fault("crash", "gw1", dies_s, drawn(chance, 0.5, 12.0))
    return world_of(chance, replicas, nodes, calls, (fault,), runs_s=free_s + 24.0)


def _seen(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    deaths = [(fact.host, fact.at) for fact in journal.of("host_crashed")]
    if deaths and all(_come_back(slots, host, at) for host, at in deaths) and _nothing_twice(slots):
        yield "FG3"


def _come_back(slots: Slots, host: str, died_at: float) -> bool:
    """Tell whether its slots were taken for a while, granted to nobody, and served calls again after one TTL."""
    left = [
        lease for lease in slots.leases if lease.host == host and lease.orphaned_at == died_at < lease.released_at
    ]
    free_at = died_at + TTL_S + HEARD_S
    while_taken = slots.sent(died_at, died_at + SURE_S - HEARD_S)
    later = slots.sent(free_at + HEARD_S, slots.watch.phases["heal"])
    return (
        len(left) == sum(slots.slots.values())
        and _are_counted(slots, left, died_at)
        and bool(while_taken)
        and not any(slots.by_node(story) for story in while_taken)
        and not any(died_at < lease.taken_at < died_at + SURE_S for lease in slots.leases)
        and slots.counts_are_right(free_at)
        and all(fits_when_granted(slots, lease) for lease in slots.leases if lease.taken_at > died_at)
        and bool(later)
        and all(slots.by_node(story) for story in later)
    )


def _are_counted(slots: Slots, left: list[Lease], died_at: float) -> bool:
    """Tell whether the store counted all of them, as long as each surely lived."""
    wanted = Counter(lease.node for lease in left)
    seen = [
        fact.number("busy") == wanted[fact.text("node")] for fact, _, _ in slots.counts(died_at, died_at + SURE_S)
    ]
    return bool(seen) and all(seen)


def _nothing_twice(slots: Slots) -> bool:
    """Tell whether no event came twice, and no call has more of them than requests that a target saw."""
    usages = [*slots.journal.of("usage")]
    asked = Counter(one.call for one in slots.watch.exchanges if one.call)
    return len({fact.text("event_id") for fact in usages}) == len(usages) and all(
        len(story.dials) <= asked[story.call.name] for story in slots.stories
    )


KILLED_SCENARIOS = (
    Scenario("fg3-killed", "the slots of a killed replica come back within one TTL", ("FG3",), _draft, _seen),
)
