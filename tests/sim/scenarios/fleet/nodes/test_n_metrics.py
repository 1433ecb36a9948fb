"""Load that comes past the gateways, played in worlds: N09, N10, N12."""

import math
from dataclasses import replace

import pytest

from sim.draft import CallDraft, Draft, Engine, Habit, NodeDraft
from sim.journal.journal import Journal
from sim.scenarios.showing import stories
from tests.sim.scenarios.fleet.nodes.n_worlds import asked, calls, nodes, played, seeds

SLOTS = 8
LOOKED_S = 8.0
"""A look has been, and every replica has read what it found."""


def pair(*elsewhere: int, **members: object) -> tuple[NodeDraft, ...]:
    """Give two machines; calls of others run in the first one."""
    first, second = nodes(2, slots=SLOTS, **members)
    return replace(first, elsewhere=elsewhere), second


def later(made: tuple[CallDraft, ...], replicas: int = 1) -> tuple[CallDraft, ...]:
    return tuple(replace(call, at_s=LOOKED_S + call.at_s, gateway=at % replicas) for at, call in enumerate(made))


def by_nodes(journal: Journal) -> bool:
    return all(story.answered_by.startswith("node-") for story in stories(journal))


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.LLAMA_CPP, Engine.TGI])
def test_n09_a_machine_that_others_fill_gets_nothing_while_another_has_room(
    seed: int, replicas: int, engine: Engine
) -> None:
    draft = Draft(nodes=pair(3, 5, engine=engine), calls=later(calls(12, 0.5), replicas), replicas=replicas)
    assert asked(played(draft, seed)) == {"node-0": 0, "node-1": 12}


@seeds
def test_n09_a_machine_that_others_use_gets_fewer(seed: int) -> None:
    found = asked(played(Draft(nodes=pair(3, 2), calls=later(calls(60, 0.5)), band=math.inf), seed))
    assert 0 < found["node-0"] < 0.8 * found["node-1"], "its weight is 1 - (5/8)^2 of what it would be"


@seeds
def test_n09_where_nobody_has_room_by_his_word_leases_decide(seed: int) -> None:
    lone = replace(nodes(1, slots=SLOTS)[0], elsewhere=(3, 5), real_slots=4 * SLOTS)
    journal = played(Draft(nodes=(lone,), calls=later(calls(10, 0.5))), seed)
    assert asked(journal) == {"node-0": 10}
    assert by_nodes(journal)


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_n10_calls_are_shared_while_the_gauges_still_say_zero(seed: int, replicas: int) -> None:
    made = tuple(replace(call, gateway=at % replicas) for at, call in enumerate(calls(10, 0.4, tokens=300)))
    late = nodes(2, slots=5, gauge_lag_s=18.0)
    journal = played(Draft(nodes=late, calls=made, replicas=replicas), seed)
    assert asked(journal) == {"node-0": 5, "node-1": 5}
    assert by_nodes(journal)


@seeds
def test_n10_what_gauges_still_tell_of_calls_that_ended_locks_nobody_out(seed: int) -> None:
    burst = tuple(replace(call, tokens=100) for call in calls(8, 0.1))
    draft = Draft(nodes=nodes(1, slots=4, gauge_lag_s=18.0), calls=(*burst, *later(calls(12, 1.0))))
    journal = played(draft, seed)
    new = [story for story in stories(journal) if story.call.sent_at > LOOKED_S - 1]
    assert [story.answered_by for story in new] == ["node-0"] * 12


@seeds
@pytest.mark.parametrize("habits", [(), (Habit.OLD_METRICS,)])
def test_n12_calls_of_others_are_seen_under_either_name_of_the_cache(seed: int, habits: tuple[Habit, ...]) -> None:
    draft = Draft(nodes=pair(8, habits=habits), calls=later(calls(12, 0.5)))
    assert asked(played(draft, seed)) == {"node-0": 0, "node-1": 12}


@seeds
@pytest.mark.parametrize("engine", [Engine.OLLAMA, Engine.AGENT])
def test_n12_where_nothing_is_told_nothing_is_known(seed: int, engine: Engine) -> None:
    draft = Draft(nodes=nodes(2, slots=SLOTS, engine=engine), calls=later(calls(12, 0.5)))
    journal = played(draft, seed)
    assert not any(fact.text("path") == "/metrics" for fact in journal.of("path_seen"))
    assert min(asked(journal).values()) >= 4
