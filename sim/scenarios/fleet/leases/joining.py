"""S39: fifty machines join at once, some agents are older than others under the same name; only the newest routes.

Over HTTP: agents announce with the keys of their nodes, again and again, to any replica.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from sim.draft import AgentDraft, Draft, Engine, Knobs, NodeDraft
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.scenarios.fleet.leases.reading import Slots
from sim.scenarios.fleet.leases.worlds import When, calls_in, drawn, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

JOINING = 50

STORM_S = 3.0
"""All of them come within this."""

CONVERGED_S = 10.0
"""A snapshot is read anew at every news, and every 5 s; a catalogue of fifty nodes settles within this."""

_TAKEN, _FENCED = (200, ""), (409, "stale_announcement")

SPREAD_MIN = 10
"""So many machines must have answered before calls count as spread."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(2, 3)
    machines = [_machine(f"node-{number}") for number in range(JOINING)]
    agents = [_agent(chance, machine.name, replicas) for machine in machines]
    doubled = chance.some(machines, chance.between(3, 6))
    older = [_machine(f"old-{machine.name}") for machine in doubled]
    agents += [
        _agent(chance, old.name, replicas, node=new.name, older=True)
        for old, new in zip(older, doubled, strict=True)
    ]
    # The agent of a machine that started again, while the one before it is not quite gone.
    restarted = next(machine for machine in machines if machine not in doubled)
    agents.append(
        AgentDraft(
            restarted.name,
            restarted.name,
            drawn(chance, 4.0, 8.0),
            started_s=drawn(chance, 0.0, 4.0),
            gateway=chance.between(0, replicas - 1),
        )
    )
    calls_from_s = STORM_S + CONVERGED_S
    calls = [
        *calls_in(chance, replicas, When(calls_from_s, calls_from_s + 20.0), 14),
        *calls_in(chance, replicas, When(calls_from_s, calls_from_s + 20.0), 4, "nodes_only"),
    ]
    draft = world_of(chance, replicas, (*machines, *older), calls, (), runs_s=calls_from_s + 30.0)
    return replace(draft, agents=tuple(agents), knobs=Knobs())


def _machine(name: str) -> NodeDraft:
    return NodeDraft(name, engine=Engine.AGENT, slots=2, window=None, joins=True)


def _agent(chance: Chance, machine: str, replicas: int, *, node: str = "", older: bool = False) -> AgentDraft:
    return AgentDraft(
        machine,
        node or machine,
        at_s=drawn(chance, 0.0, STORM_S),
        started_s=drawn(chance, -900.0, -600.0) if older else drawn(chance, -300.0, 0.0),
        gateway=chance.between(0, replicas - 1),
        every_s=drawn(chance, 7.0, 12.0) if older else 30.0,
    )


def _by_node(slots: Slots) -> dict[str, list[Fact]]:
    told: dict[str, list[Fact]] = defaultdict(list)
    for fact in slots.journal.of("announced"):
        told[fact.text("node")].append(fact)
    return told


def _active(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    joined = [facts for facts in _by_node(slots).values() if any(fact.members["status"] == 200 for fact in facts)]
    doubled = [facts for facts in joined if len({fact.members["epoch"] for fact in facts}) > 1]
    if len(joined) >= JOINING and doubled and slots.stories:
        yield "S39"


def _seen(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    told = _by_node(slots)
    if (
        len(told) >= JOINING
        and all(_is_fenced(facts) for facts in told.values())
        and any(fact.members["code"] == _FENCED[1] for facts in told.values() for fact in facts)
        and _only_the_newest(slots, told)
        and _converges(slots, [*told])
    ):
        yield "S39"


def _is_fenced(facts: list[Fact]) -> bool:
    """Tell whether the newest agent of a node was taken each time, and every older one refused from then on."""
    newest = max(fact.number("epoch") for fact in facts)
    taken_at = min(fact.at for fact in facts if fact.number("epoch") == newest)
    later = [fact for fact in facts if fact.at >= taken_at]
    return all(
        (fact.members["status"], fact.members["code"]) == (_TAKEN if fact.number("epoch") == newest else _FENCED)
        for fact in later
    )


def _only_the_newest(slots: Slots, told: dict[str, list[Fact]]) -> bool:
    """Tell whether only machines whose agent is the newest of its name were asked, and many of them answered."""
    newest = {max(facts, key=lambda fact: fact.number("epoch")).text("machine") for facts in told.values()}
    answered_by = [story.answered_by for story in slots.stories]
    asked = {exchange.target for exchange in slots.watch.exchanges if exchange.call}
    return set(answered_by) <= newest and asked <= newest and len(set(answered_by)) >= SPREAD_MIN


def _converges(slots: Slots, nodes: list[str]) -> bool:
    """Tell whether all gateways came to the same version and the same nodes soon after the last one joined."""
    first = [min(fact.at for fact in facts if fact.members["status"] == 200) for facts in _by_node(slots).values()]
    by = max(first) + CONVERGED_S
    for host in slots.hosts:
        known = {
            fact.text("label")
            for fact in slots.journal.of("gauge")
            if fact.host == host and fact.members["name"] == "node_slots_busy" and fact.at <= by
        }
        if known != set(nodes):
            return False
    return len({_version(slots, host) for host in slots.hosts}) == 1


def _version(slots: Slots, host: str) -> float:
    """Give the version that a gateway has in the end."""
    gauges = [fact for fact in slots.journal.of("gauge") if fact.members["name"] == "snapshot_version"]
    return [fact.number("value") for fact in gauges if fact.host == host][-1]


JOINING_SCENARIOS = (
    Scenario(
        "s39-join-storm", "fifty nodes join at once, older agents are fenced off", ("S39",), _draft, _seen, _active
    ),
)
