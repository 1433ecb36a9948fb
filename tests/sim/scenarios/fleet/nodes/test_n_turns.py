"""Machines that turn while calls wait for them, and what is known of them then, played in worlds."""

from dataclasses import replace

import pytest

from sim.draft import AgentDraft, CallDraft, Draft, Engine, Habit, Level, Manner
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from sim.scenarios.fleet.leases.reading import TIMEOUT_S
from sim.scenarios.fleet.leases.worlds import GRACE_S
from sim.scenarios.fleet.nodes.reading import DOWN, health, words
from sim.scenarios.fleet.nodes.worlds import LOOKED_S
from sim.scenarios.showing import Story, stories
from tests.sim.scenarios.fleet.nodes.n_worlds import asked_of, calls, nodes, played, seeds

PATIENT_MS = 20_000
SOON_S = 1.0

levels = pytest.mark.parametrize("level", list(Level))


def sent(journal: Journal, since: float, until: float, placement: str | None = None) -> list[Story]:
    """Give the calls that were sent in this time of the draft, of one placement."""
    begun_at = begins_at(journal)
    found = [story for story in stories(journal) if since <= story.call.sent_at - begun_at < until]
    return [one for one in found if one.call.sents[0].members["placement"] == placement]


def begins_at(journal: Journal) -> float:
    """Give the moment from which a draft counts its seconds."""
    return watch_of(journal).phases["faults"]


def lasted_s(story: Story) -> float:
    return story.call.over_at - story.call.sent_at


def crowd(at_s: float) -> tuple[CallDraft, ...]:
    """Give two calls that hold both slots of a machine for long, and eight that wait for them."""
    holders = tuple(CallDraft(at_s=0.5, tokens=400) for _ in range(2))
    return (*holders, *(CallDraft(at_s=round(at_s - 1.0 + at / 10, 3), tokens=5) for at in range(8)))


@seeds
@levels
@pytest.mark.parametrize("kind", ["refuse", "draining", "nodes_off"])
def test_who_waits_goes_on_when_the_machine_turns(seed: int, level: Level, kind: str) -> None:
    target = "" if kind == "nodes_off" else "node-0"
    plan = [Fault(kind, target, 9.0, 0.0 if kind == "nodes_off" else 20.0)]
    if kind == "refuse":
        plan.append(Fault("reset", "node-0", 9.01))  # in one instant it might come first, and free two slots
    lone = nodes(1, engine=Engine.AGENT, slots=2, token_s=0.1)
    draft = Draft(nodes=lone, calls=crowd(9.0), faults=tuple(plan), queue_timeout_ms=PATIENT_MS)
    journal = played(draft, seed, level)
    waiting = sent(journal, 7.0, 9.0)
    assert len(waiting) == 8
    heard_s = LOOKED_S if kind == "draining" else SOON_S
    assert {story.answered_by for story in waiting} == {"cloud-a"}
    assert max(story.call.over_at for story in waiting) - begins_at(journal) < 9.0 + heard_s + SOON_S
    told = set.union(*(words(story) for story in waiting))
    assert {"refuse": "down", "draining": "draining", "nodes_off": "none"}[kind] in told


@seeds
@levels
def test_nobody_waits_by_counts_of_a_store_that_hangs(seed: int, level: Level) -> None:
    holders = tuple(CallDraft(at_s=0.5, tokens=400, placement="nodes_only") for _ in range(3))
    during = tuple(
        CallDraft(at_s=at / 10, tokens=5, placement=placement)
        for placement in (None, "nodes_only")
        for at in range(80, 140, 7)
    )
    draft = Draft(
        nodes=nodes(1, slots=3, token_s=0.1),
        calls=(*holders, *during),
        faults=(Fault("redis_hung", "", 5.0, 10.0),),
        queue_timeout_ms=15_000,
    )
    journal = played(draft, seed, level)
    open_ones, confined = sent(journal, 7.0, 15.0), sent(journal, 7.0, 15.0, "nodes_only")
    assert len(open_ones) == len(confined) == len(during) / 2
    assert {(story.answered_by, *words(story)) for story in open_ones} == {("cloud-a", "unknown")}
    assert {(story.call.code, *words(story)) for story in confined} == {("node_state_unknown", "unknown")}
    assert max(lasted_s(story) for story in confined) < 2 * TIMEOUT_S


@seeds
def test_a_window_that_is_large_again_is_used_again(seed: int) -> None:
    long = calls(40, 1.0, tokens=5, prompt_words=400)
    narrow = Fault("smaller_window", "node-0", 8.0, 10.0, 300.0)
    lone = nodes(1, engine=Engine.AGENT, slots=2, window=8192)
    journal = played(Draft(nodes=lone, calls=long, faults=(narrow,)), seed)
    assert {one.answered_by for one in sent(journal, 0.0, 8.0)} == {"node-0"}
    assert {one.answered_by for one in sent(journal, 8.0 + LOOKED_S, 18.0)} == {"cloud-a"}
    assert {one.answered_by for one in sent(journal, 18.0 + LOOKED_S, 40.0)} == {"node-0"}


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_a_machine_that_was_down_is_not_healthy_for_having_been_switched_off_and_on(
    seed: int, replicas: int
) -> None:
    made = tuple(replace(call, gateway=at % replicas) for at, call in enumerate(calls(120, 0.5, tokens=5)))
    plan = (
        Fault("refuse", "node-0", 5.0, 45.0),
        Fault("reset", "node-0", 5.0),
        Fault("nodes_off", "", 35.0),
        Fault("nodes_on", "", 36.0),
    )
    lone = nodes(1, engine=Engine.AGENT, slots=4)
    journal = played(Draft(nodes=lone, calls=made, faults=plan, replicas=replicas), seed)
    begun_at = begins_at(journal)
    for turns in health(journal, "node-0").values():
        assert [value for span, value in turns if span.start - begun_at <= 34.0][-1] == DOWN
        assert not any(value < DOWN for span, value in turns if 34.0 < span.start - begun_at < 50.0)
    afterwards = sent(journal, 37.0, 49.0)
    assert afterwards
    assert all(words(story) == {"down"} for story in afterwards)


@seeds
@pytest.mark.parametrize("replicas", [1, 3])
def test_a_machine_that_announces_that_it_drains_stays_in_the_fleet(seed: int, replicas: int) -> None:
    (lone,) = nodes(1, engine=Engine.AGENT, slots=4, joins=True)
    made = tuple(
        CallDraft(at_s=at / 2, tokens=5, gateway=at % replicas, placement=placement)
        for at, placement in enumerate(("nodes_only", None) * 40, start=6)
    )
    said = AgentDraft("node-0", "node-0", every_s=600.0)
    agents = (said, replace(said, at_s=15.0, draining=True), replace(said, at_s=30.0, started_s=25.0))
    journal = played(Draft(nodes=(lone,), agents=agents, calls=made, replicas=replicas), seed)
    begun_at = begins_at(journal)
    told_at = [fact.at - begun_at for fact in journal.of("announced")]
    drains = (told_at[1] + SOON_S, told_at[2])
    confined, others = sent(journal, *drains, "nodes_only"), sent(journal, *drains)
    assert confined
    assert {(story.call.code, *words(story)) for story in confined} == {("no_node_available", "draining")}
    assert {(story.answered_by, *words(story)) for story in others} == {("cloud-a", "draining")}
    again = sent(journal, drains[1] + SOON_S, 50.0, "nodes_only")
    assert {story.answered_by for story in again} == {"node-0"}
    assert not any(drains[0] < one.asked.at - begun_at < drains[1] for one in asked_of(journal, "node-0"))


@seeds
def test_a_look_from_before_a_client_left_does_not_free_its_slot(seed: int) -> None:
    ghostly, deaf = nodes(2, engine=Engine.LLAMA_CPP, slots=16, habits=(Habit.TELLS_BUSY,), token_s=0.1)
    made = calls(60, 1.0, tokens=400, manner=Manner.LEAVES_BEFORE, after=0.25)
    silent = Fault("silent", "node-1", 0.0, 60.0)  # looks at it take 2 s, and so does each round
    draft = Draft(nodes=(ghostly, deaf), calls=made, faults=(silent,), knobs=replace(Draft().knobs, sample_s=0.2))
    journal = played(draft, seed)
    drains = [
        fact
        for fact in journal.of("lease_released")
        if fact.members["node"] == "node-0" and fact.number("drain_s") > 0
    ]
    assert drains
    freed = [fact for fact in journal.of("leases_drained") if "node-0" in fact.text("nodes").split()]
    assert any(
        left.at < fact.at < left.at + 10.0 and fact.at - fact.number("ago_s") < left.at
        for fact in freed
        for left in drains
    ), "a round was under way when a client left"
    for left in drains:
        seen_at = min((one.at for one in freed if one.at - one.number("ago_s") > left.at), default=left.at + 10.0)
        until = min(seen_at, left.at + 10.0) - SOON_S
        counted = [
            fact.number("busy")
            for fact in journal.of("slots_seen")
            if fact.members["node"] == "node-0" and left.at + TIMEOUT_S < fact.at < until
        ]
        assert 0 not in counted


@seeds
def test_a_beginning_of_the_store_that_is_no_time_is_overcome(seed: int) -> None:
    made = calls(40, 0.5, tokens=5, placement="nodes_only")
    draft = Draft(nodes=nodes(2), calls=made, faults=(Fault("redis_garbled", "", 5.0),))
    journal = played(draft, seed, Level.WIRE)
    assert {story.call.code for story in sent(journal, 5.5, 5.0 + GRACE_S - 0.5, "nodes_only")} == {
        "node_state_unknown"
    }
    later = sent(journal, 5.0 + GRACE_S + 2.0, 20.0, "nodes_only")
    assert later
    assert all(story.answered_by.startswith("node-") for story in later)
