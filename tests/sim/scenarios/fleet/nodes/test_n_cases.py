"""Bugs that other gateways of local fleets had, played in worlds: N01, N02, N10, N13, N19, N23, N29.

The others: `test_n_looks.py` (N04, N05, N15, N16, N17), `test_n_choice.py` (N07, N08), `test_n_answers.py` (N20,
N21, N24, N27), `test_n_bodies.py` (N26, N30).
"""

from dataclasses import replace

import pytest

from sim.draft import CallDraft, Draft, Engine, Knobs, Manner
from sim.faults.plan import Fault
from sim.scenarios.fleet.nodes.reading import BARRED, HEALTHY, asked_by_calls, health, logged
from sim.scenarios.showing import stories, suffered
from tests.sim.scenarios.fleet.nodes.n_worlds import asked, asked_of, at_once, calls, nodes, played, seeds


@seeds
def test_n01_a_machine_that_fails_fast_attracts_no_calls(seed: int) -> None:
    broken = Fault("status", "node-0", 0.0, 60.0, 500.0)
    journal = played(Draft(nodes=nodes(2), calls=calls(100, 0.4), faults=(broken,)), seed)
    assert asked(journal)["node-1"] >= 95
    assert asked(journal)["node-0"] <= 5


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_n01_a_machine_that_refuses_our_token_attracts_no_calls_until_it_takes_it_again(
    seed: int, replicas: int
) -> None:
    refusing = Fault("credential_refused", "node-0", 0.0, 60.0)
    made = tuple(
        replace(call, gateway=at % replicas, streamed=bool(at % 2)) for at, call in enumerate(calls(300, 0.4))
    )
    draft = Draft(nodes=nodes(2, slots=2), calls=made, faults=(refusing,), replicas=replicas)
    journal = played(draft, seed)
    told = stories(journal)
    refused = [one for one in asked_of(journal, "node-0") if one.asked.at < 60.0]
    assert len(refused) <= 2 * replicas, "each replica finds out by itself, and no more than once or twice"
    assert all(story.answered_by for story in told), "whom it refused another one answers"
    assert {turn for turns in health(journal, "node-0").values() for _, turn in turns} == {HEALTHY, BARRED}
    assert len([*logged(journal, "node_token_refused")]) <= replicas, "once for each replica, not for each call"
    assert any(one.asked.at > 60.0 for one in asked_of(journal, "node-0")), "a token brought it back"


@seeds
def test_a_machine_that_refuses_our_token_is_asked_where_nobody_else_is_left(seed: int) -> None:
    refusing = Fault("credential_refused", "node-0", 0.0, 60.0)
    journal = played(Draft(nodes=nodes(1), calls=calls(40, 0.4), faults=(refusing,)), seed)
    told = stories(journal)
    assert {tuple((dial.target, dial.word) for dial in story.dials) for story in told} == {
        (("node-0", "401"), ("cloud-a", "ok"))
    }
    assert len([*logged(journal, "node_token_refused")]) == 1


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_n02_ties_rotate(seed: int, replicas: int) -> None:
    made = tuple(
        replace(call, gateway=at % replicas) for at, call in enumerate(calls(9 * replicas, 3.0, tokens=8))
    )
    journal = played(Draft(nodes=nodes(3), calls=made, replicas=replicas), seed)
    assert min(asked(journal).values()) >= 2 * replicas


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_n10_the_first_calls_after_a_cold_start_do_not_all_go_to_one_machine(seed: int, replicas: int) -> None:
    made = tuple(replace(call, gateway=at % replicas) for at, call in enumerate(calls(10, 0.4, tokens=100)))
    found = asked(played(Draft(nodes=nodes(3), calls=made, replicas=replicas), seed))
    assert found.total() == 10
    assert max(found.values()) <= 5
    assert min(found.values()) >= 2


@seeds
def test_n13_an_engine_that_lists_its_models_and_generates_nothing_is_left_alone(seed: int) -> None:
    frozen = Fault("stall", "node-0", 5.0, 120.0, 0.0)
    draft = Draft(
        nodes=nodes(2), calls=calls(160, 1.0), faults=(frozen,), knobs=Knobs(first_token_s=5.0), runs_s=220.0
    )
    journal = played(draft, seed)
    met = suffered(journal, "FV2") + suffered(journal, "FV4")
    lost = [one for one in asked_by_calls(journal, "node-0") if 6.0 < one.asked.at < 126.0]
    assert met
    assert len(lost) <= 6, "those that came before its first token was late, and no more"
    (turns,) = health(journal, "node-0").values()
    assert any(value > HEALTHY for _, value in turns)
    assert not any(value == HEALTHY and 20.0 < span.start < 126.0 for span, value in turns)
    assert any(one.asked.at > 126.0 for one in asked_by_calls(journal, "node-0")), "a token brought it back"


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_n19_an_engine_that_would_queue_them_all_gets_one_at_a_time(seed: int, replicas: int) -> None:
    made = tuple(CallDraft(at_s=1.0 + at / 100, gateway=at % replicas, tokens=20) for at in range(6))
    lone = nodes(1, engine=Engine.OLLAMA, slots=1, token_s=0.02)
    journal = played(Draft(nodes=lone, calls=made, replicas=replicas, queue_timeout_ms=15_000), seed)
    exchanges = asked_of(journal, "node-0")
    assert at_once(exchanges) == 1
    assert len(exchanges) >= 2, "somebody waited for the slot"
    assert all(story.answered_by for story in stories(journal)), "the others were answered by the cloud"


@seeds
def test_n23_the_slot_of_a_leaver_is_not_free_before_its_engine_is_idle(seed: int) -> None:
    leaver = CallDraft(at_s=1.0, tokens=400, manner=Manner.LEAVES_MIDWAY, after=3.0)
    others = tuple(CallDraft(at_s=1.5 + at * 0.5, tokens=5) for at in range(30))
    lone = nodes(1, engine=Engine.LLAMA_CPP, slots=1)
    journal = played(Draft(nodes=lone, calls=(leaver, *others)), seed)
    freed = next(fact for fact in journal.of("lease_released") if fact.number("drain_s") > 0)
    taken = [fact.at for fact in journal.of("lease_taken") if fact.at > freed.at]
    idle = [fact.at for fact in journal.of("leases_drained") if freed.at < fact.at]
    assert freed.number("drain_s") == 10.0
    assert min(taken) >= min([*idle, freed.at + 10.0])


@seeds
@pytest.mark.parametrize("events", [0.0, 1.0])
def test_n29_an_answer_that_was_cut_off_is_a_failure(seed: int, events: float) -> None:
    cut = Fault("cut", "node-0", 3.0, 10.0, events)
    journal = played(Draft(nodes=nodes(1), calls=calls(12, 1.0, tokens=40), faults=(cut,)), seed)
    met = {fact.members["call"] for fact in suffered(journal, "FV1" if events == 0 else "FV3")}
    hit = [story for story in stories(journal) if story.call.name in met]
    assert hit
    assert not any(story.dials[0].status == "ok" for story in hit)
    if events == 0:
        assert all(story.answered_by == "cloud-a" for story in hit), "asked again elsewhere"
    else:
        assert all(story.broke_at("node-0") for story in hit), "told, and not billed as done"
    (turns,) = health(journal, "node-0").values()
    assert any(value > HEALTHY for _, value in turns)
