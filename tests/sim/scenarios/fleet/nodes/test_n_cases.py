"""Bugs that other gateways of local fleets had, played in worlds: N01, N02, N10, N13, N19, N23, N29."""

from collections import Counter
from dataclasses import replace

import pytest

from sim.draft import CallDraft, Draft, Engine, Knobs, Level, Manner, NodeDraft, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Exchange
from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.fleet.nodes.reading import HEALTHY, asked_by_calls, health, nodes_of
from sim.scenarios.scenario import Scenario, nothing_special
from sim.scenarios.showing import stories, suffered

SEEDS = range(3)
CLOUD = (VendorDraft("cloud-a"),)

seeds = pytest.mark.parametrize("seed", SEEDS)


def nodes(count: int, **members: object) -> tuple[NodeDraft, ...]:
    return tuple(NodeDraft(f"node-{at}", **members) for at in range(count))  # type: ignore[arg-type]  # by name


def calls(count: int, every_s: float, **members: object) -> tuple[CallDraft, ...]:
    return tuple(CallDraft(at_s=round(at * every_s, 3), **members) for at in range(count))  # type: ignore[arg-type]


def played(draft: Draft, seed: int) -> Journal:
    """Run a world of this draft, which breaks no promise."""
    last_s = max(call.at_s for call in draft.calls)
    drawn = replace(draft, level=Level.PORTS, vendors=CLOUD, runs_s=max(draft.runs_s, last_s + 5.0))
    done = run(Scenario("n-case", "a case", (), lambda _: drawn, nothing_special), seed)
    assert done.outcome.ok, done.outcome
    return done.journal


def asked(journal: Journal) -> Counter[str]:
    """Count what each machine was asked for the calls of the draft."""
    return Counter(
        {
            node: sum(not one.call.startswith("1000") for one in asked_by_calls(journal, node))
            for node in nodes_of(journal)
        }
    )


def at_once(exchanges: list[Exchange]) -> int:
    """Give how many were under way at the same time, at most."""
    return max(sum(other.asked.at <= one.asked.at < other.told_at for other in exchanges) for one in exchanges)


@seeds
def test_n01_a_machine_that_fails_fast_attracts_no_calls(seed: int) -> None:
    broken = Fault("status", "node-0", 0.0, 60.0, 500.0)
    journal = played(Draft(nodes=nodes(2), calls=calls(100, 0.4), faults=(broken,)), seed)
    assert asked(journal)["node-1"] >= 95
    assert asked(journal)["node-0"] <= 5


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
    exchanges = [one for one in asked_by_calls(journal, "node-0") if not one.call.startswith("1000")]
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
