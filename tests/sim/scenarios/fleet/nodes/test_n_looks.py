"""Bugs of looks at machines, played in worlds: N04, N05, N15, N16, N17."""

from dataclasses import replace

import pytest

from ktms.engine.look import TOKEN_S
from ktms.engine.probe import PROBE_EVERY_S
from sim.draft import CallDraft, Draft, Engine, Habit, Knobs
from sim.faults.plan import Fault
from sim.scenarios.fleet.nodes.reading import HEALTHY, loads_asked
from sim.scenarios.showing import stories
from tests.sim.scenarios.fleet.nodes.n_worlds import (
    asked_of,
    at_once,
    calls,
    healings,
    nodes,
    played,
    seeds,
    worst,
)

EMBEDDER = "embedder"
"""A model that no cloud has."""


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_n04_a_token_that_hangs_ends_by_its_own_timer_and_has_one_successor(seed: int, replicas: int) -> None:
    made = tuple(replace(call, gateway=at % replicas) for at, call in enumerate(calls(200, 1.0, tokens=5)))
    frozen = Fault("stall", "node-0", 3.0, 60.0, 0.0)
    draft = Draft(nodes=nodes(2), calls=made, faults=(frozen,), replicas=replicas, knobs=Knobs(first_token_s=3.0))
    journal = played(draft, seed)
    tokens = loads_asked(journal, "node-0")
    assert at_once(tokens) == 1
    hung = [one for one in tokens if not one.says("finished")]
    assert hung
    assert max(one.told_at - one.asked.at for one in hung) <= TOKEN_S + 1
    (spoke,) = (one for one in tokens if one.says("finished"))
    assert spoke.asked.at - max(one.told_at for one in hung) <= 2 * PROBE_EVERY_S + 1
    assert min(healings(journal, "node-0")) >= spoke.told_at
    assert any(one.asked.at > spoke.told_at for one in asked_of(journal, "node-0")), "and it is back"


@seeds
@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.AGENT, Engine.LLAMA_CPP])
@pytest.mark.parametrize("looks", ["", "silent", "status"])
def test_n05_looks_free_no_slot_of_a_machine_that_works(seed: int, engine: Engine, looks: str) -> None:
    streams = tuple(CallDraft(at_s=1.0 + at / 10, tokens=60) for at in range(4))
    others = tuple(CallDraft(at_s=3.0 + at, tokens=5) for at in range(40))
    missed = (Fault(looks, "node-0", 5.0, 30.0, 500.0),) if looks else ()
    lone = nodes(1, engine=engine, slots=4, token_s=1.0)
    journal = played(Draft(nodes=lone, calls=(*streams, *others), faults=missed), seed)
    assert [one.call for one in asked_of(journal, "node-0")] == ["0", "1", "2", "3"]
    assert {story.answered_by for story in stories(journal)[4:]} == {"cloud-a"}
    busy = [fact.number("busy") for fact in journal.of("slots_seen") if 5.0 < fact.at < 45.0]
    assert set(busy) == {4.0}
    assert worst(journal, "node-0") == HEALTHY


@seeds
@pytest.mark.parametrize("slots", [1, 2])
def test_n15_a_machine_that_is_too_busy_to_answer_looks_stays_in_service(seed: int, slots: int) -> None:
    deaf = nodes(1, slots=slots, token_s=1.0, habits=(Habit.DEAF_WHILE_BUSY,))
    journal = played(Draft(nodes=deaf, calls=(CallDraft(at_s=1.0, tokens=180),)), seed)
    (story,) = stories(journal)
    assert story.answered_by == "node-0"
    missed = [fact for fact in journal.of("node_looked") if fact.members["look"] == "missed"]
    assert len(missed) > 20
    assert worst(journal, "node-0") == HEALTHY
    assert loads_asked(journal, "node-0") == [], "nothing is loaded again"


@seeds
@pytest.mark.parametrize(("lasts_s", "falls"), [(9.0, False), (40.0, True)])
def test_n15_an_idle_machine_goes_down_after_three_missed_looks_in_a_row(
    seed: int, lasts_s: float, falls: bool
) -> None:
    made = (CallDraft(at_s=1.0), CallDraft(at_s=200.0))
    silent = Fault("silent", "node-0", 10.0, lasts_s)
    journal = played(Draft(nodes=nodes(1), calls=made, faults=(silent,)), seed)
    assert (worst(journal, "node-0") > HEALTHY) is falls
    assert stories(journal)[-1].answered_by == "node-0"


def embedding(at_s: float, route: str = "embeddings") -> CallDraft:
    return CallDraft(at_s=at_s, route=route, model=EMBEDDER, streamed=False)


@seeds
@pytest.mark.parametrize("engine", [Engine.OLLAMA, Engine.VLLM, Engine.LLAMA_CPP])
def test_n16_chats_that_a_machine_for_embeddings_refuses_make_it_no_worse(seed: int, engine: Engine) -> None:
    lone = nodes(1, engine=engine, serves=(EMBEDDER,), habits=(Habit.EMBEDS_ALONE,))
    chats = tuple(embedding(1.0 + at, "chat") for at in range(8))
    journal = played(Draft(nodes=lone, calls=(*chats, embedding(20.0), embedding(120.0))), seed)
    assert [story.call.status for story in stories(journal)] == [400] * 8 + [200, 200]
    assert worst(journal, "node-0") == HEALTHY
    assert loads_asked(journal, "node-0") == [], "nobody has to prove anything"


@seeds
@pytest.mark.parametrize("engine", [Engine.OLLAMA, Engine.VLLM, Engine.LLAMA_CPP])
def test_n16_a_machine_for_embeddings_comes_back_by_a_text_that_it_embeds(seed: int, engine: Engine) -> None:
    lone = nodes(1, engine=engine, serves=(EMBEDDER,), habits=(Habit.EMBEDS_ALONE,))
    made = tuple(embedding(1.0 + at) for at in range(60))
    fails = Fault("status", "node-0", 5.0, 10.0, 500.0)
    journal = played(Draft(nodes=lone, calls=made, faults=(fails,)), seed)
    proofs = [one for one in loads_asked(journal, "node-0") if one.status != 500]
    assert [one.asked.text("path") for one in proofs] == ["/v1/chat/completions", "/v1/embeddings"]
    assert [one.status for one in proofs] == [400, 200]
    assert stories(journal)[-1].call.status == 200


@seeds
@pytest.mark.parametrize("engine", [Engine.AGENT, Engine.LLAMA_CPP])
@pytest.mark.parametrize("replicas", [1, 3])
def test_n17_a_machine_that_loads_its_weights_is_cold_and_not_broken(
    seed: int, engine: Engine, replicas: int
) -> None:
    made = tuple(replace(call, gateway=at % replicas) for at, call in enumerate(calls(80, 1.0, tokens=5)))
    gone = Fault("evicted", "node-0", 10.0, 200.0, 25.0)
    lone = nodes(1, engine=engine, slots=8)
    journal = played(Draft(nodes=lone, calls=made, faults=(gone,), replicas=replicas), seed)
    (gone_at,) = (fact.at for fact in journal.of("model_gone"))
    (back_at,) = (fact.at for fact in journal.of("model_loaded"))
    met = [one for one in asked_of(journal, "node-0") if gone_at < one.asked.at < back_at]
    loads = loads_asked(journal, "node-0")
    told = stories(journal)
    assert at_once(loads) == 1
    assert len(met) <= PROBE_EVERY_S + 2, "those that came before anybody knew"
    assert [story for story in told if not story.answered_by] == []
    assert told[-1].answered_by == "node-0"
    assert worst(journal, "node-0") == HEALTHY
