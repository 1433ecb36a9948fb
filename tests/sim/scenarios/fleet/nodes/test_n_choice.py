"""Bugs in the choice of a machine, played in worlds: N07, N08."""

from collections import Counter
from dataclasses import replace

import pytest

from sim.draft import MODEL, CallDraft, Draft
from sim.faults.plan import Fault
from sim.journal.calls import Exchange
from sim.journal.journal import Journal
from sim.scenarios.fleet.nodes.reading import nodes_of
from sim.scenarios.showing import stories
from tests.sim.scenarios.fleet.nodes.n_worlds import asked, asked_of, at_once, calls, nodes, played, seeds

HEAVY = "heavy"
"""A model that only the loaded machine serves."""


SLOTS = 8


def is_heavy(exchange: Exchange) -> bool:
    return HEAVY in exchange.asked.text("model")


def share_by_room(journal: Journal, node: str) -> float:
    """Give how many of the new calls a machine had got, had each gone by the slots that were free just then."""
    asked = {name: asked_of(journal, name) for name in nodes_of(journal)}
    new = [one.asked.at for exchanges in asked.values() for one in exchanges if not is_heavy(one)]
    rooms = [{name: room(exchanges, at) for name, exchanges in asked.items()} for at in new]
    return sum(free[node] / sum(free.values()) for free in rooms)


def room(exchanges: list[Exchange], at: float) -> int:
    return SLOTS - sum(one.asked.at < at < one.told_at for one in exchanges)


def discoveries(every_s: float, until_s: float) -> tuple[Fault, ...]:
    """Give a new catalogue every few seconds."""
    return tuple(Fault("new_catalogue", "", round(at * every_s, 3)) for at in range(int(until_s / every_s)))


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_n07_turns_go_on_under_every_new_catalogue(seed: int, replicas: int) -> None:
    made = tuple(
        replace(call, gateway=at % replicas) for at, call in enumerate(calls(9 * replicas, 3.0, tokens=8))
    )
    draft = Draft(nodes=nodes(3), calls=made, faults=discoveries(0.7, 27.0 * replicas), replicas=replicas)
    assert min(asked(played(draft, seed)).values()) >= 2 * replicas


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_n07_slots_in_use_stay_in_use_under_every_new_catalogue(seed: int, replicas: int) -> None:
    long = tuple(CallDraft(at_s=1.0 + at, tokens=60, gateway=at % replicas) for at in range(6))
    short = tuple(CallDraft(at_s=10.0 + at, tokens=5, gateway=at % replicas) for at in range(30))
    draft = Draft(
        nodes=nodes(3, slots=2, token_s=1.0),
        calls=(*long, *short),
        faults=discoveries(0.7, 45.0),
        replicas=replicas,
    )
    journal = played(draft, seed)
    assert asked(journal) == Counter({"node-0": 2, "node-1": 2, "node-2": 2})
    assert {story.answered_by for story in stories(journal)[6:]} == {"cloud-a"}
    assert {fact.number("busy") for fact in journal.of("slots_seen") if 10.0 < fact.at < 45.0} == {2.0}


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_n08_a_machine_that_one_client_loads_gets_no_more_new_calls_than_it_has_room_for(
    seed: int, replicas: int
) -> None:
    unique = tuple(
        CallDraft(at_s=1.0 + at * 1.3, model=HEAVY, tokens=150, prompt_words=150, gateway=at % replicas)
        for at in range(60)
    )
    new = tuple(CallDraft(at_s=15.0 + at * 0.25, tokens=20, gateway=at % replicas) for at in range(240))
    loaded, *others = nodes(3, slots=SLOTS, prefill_token_s=0.005)
    draft = Draft(
        nodes=(replace(loaded, serves=(MODEL, HEAVY)), *others), calls=(*unique, *new), replicas=replicas
    )
    journal = played(draft, seed)
    heavy = [one for one in asked_of(journal, "node-0") if is_heavy(one)]
    assert at_once(heavy) >= SLOTS - 2, "it is loaded"
    found = asked(journal)
    found["node-0"] -= len(heavy)
    assert found.total() == len(new)
    assert found["node-0"] <= share_by_room(journal, "node-0")
    assert max(found.values()) <= len(new) * 2 / 3, "nor do all go to one of the others"
