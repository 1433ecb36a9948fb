"""Bugs around answers of machines, played in worlds: N20, N21, N24, N27."""

from dataclasses import replace

import pytest

from sim.draft import CallDraft, Draft, Engine, Habit, Level, Manner
from sim.fakes.target import OTHER_MODEL
from sim.faults.plan import Fault
from sim.scenarios.fleet.nodes.reading import HEALTHY, loads_asked, logged
from sim.scenarios.showing import stories, suffered
from tests.sim.scenarios.fleet.nodes.n_worlds import asked_of, calls, healings, nodes, played, seeds, worst

WORDS_OF_400_TOKENS = 90
WORDS_OF_7900_TOKENS = 1_800


@seeds
@pytest.mark.parametrize("streamed", [True, False])
def test_n20_slots_that_share_a_window_are_asked_for_what_their_parts_hold(seed: int, streamed: bool) -> None:
    shared = nodes(
        1,
        engine=Engine.LLAMA_CPP,
        window=None,
        real_window=1024,
        first_token_s=0.5,
        token_s=0.2,
        habits=(Habit.SHARES_WINDOW,),
    )
    call = CallDraft(at_s=3.0, tokens=30, streamed=streamed, more=(("max_tokens", 60),))
    long = tuple(replace(call, at_s=3.0 + at / 10, prompt_words=WORDS_OF_400_TOKENS) for at in range(4))
    short = tuple(replace(call, at_s=20.0 + at / 10, prompt_words=20) for at in range(4))
    journal = played(Draft(nodes=shared, calls=(*long, *short)), seed)
    told = stories(journal)
    assert [story.answered_by for story in told] == ["cloud-a"] * 4 + ["node-0"] * 4
    assert all(story.passed_over("node-0", "unfit") for story in told[:4])
    assert suffered(journal, "FV1") + suffered(journal, "FV8") == []


@seeds
@pytest.mark.parametrize("level", list(Level), ids=lambda level: level.name.lower())
@pytest.mark.parametrize("engine", [Engine.VLLM, Engine.LLAMA_CPP])
@pytest.mark.parametrize(
    ("manner", "after"), [(Manner.LEAVES_MIDWAY, 2.0), (Manner.LEAVES_BEFORE, 0.1), (Manner.LEAVES_BEFORE, 2.0)]
)
def test_n21_ten_that_leave_leave_ten_slots(
    seed: int, level: Level, engine: Engine, manner: Manner, after: float
) -> None:
    leaver = CallDraft(at_s=1.0, tokens=150, placement="nodes_only", manner=manner, after=after)
    stayer = CallDraft(at_s=30.0, tokens=20, placement="nodes_only")
    made = (*(replace(leaver, at_s=1.0 + at / 20) for at in range(10)), *[stayer] * 10)
    lone = nodes(1, engine=engine, slots=10, token_s=0.1)
    journal = played(Draft(nodes=lone, calls=made), seed, level)
    told = stories(journal)
    assert [story.call.outcome for story in told[:10]] == ["left"] * 10
    taken = [fact.at for fact in journal.of("lease_taken") if fact.at < 30.0]
    freed = [fact.at for fact in journal.of("lease_released") if fact.at < 30.0]
    assert len(taken) == len(freed) == 10
    assert [story.answered_by for story in told[10:]] == ["node-0"] * 10
    assert all(story.dials[0].began_at - story.call.sent_at < 0.5 for story in told[10:]), "none of them waited"


@seeds
@pytest.mark.parametrize("declared", [32_768, None])
def test_n24_a_prompt_that_was_cut_in_silence_is_answered_by_who_reads_all_of_it(
    seed: int, declared: int | None
) -> None:
    cuts = nodes(1, engine=Engine.OLLAMA, window=declared, real_window=4096)
    long = CallDraft(at_s=3.0, prompt_words=WORDS_OF_7900_TOKENS, streamed=False)
    short = CallDraft(at_s=15.0, streamed=False)
    journal = played(Draft(nodes=cuts, calls=(long, replace(long, at_s=10.0), short)), seed)
    first, second, last = stories(journal)
    (dial, _) = first.dials
    assert (dial.target, dial.word, dial.status) == ("node-0", "truncated", "failed")
    assert first.answered_by == "cloud-a"
    assert second.passed_over("node-0", "unfit")
    assert second.answered_by == "cloud-a"
    assert last.answered_by == "node-0"
    assert worst(journal, "node-0") == HEALTHY


@seeds
def test_n24_a_stream_that_was_cut_in_silence_is_shown_and_is_the_last_one(seed: int) -> None:
    cuts = nodes(1, engine=Engine.OLLAMA, window=32_768, real_window=4096)
    long = CallDraft(at_s=3.0, prompt_words=WORDS_OF_7900_TOKENS)
    journal = played(Draft(nodes=cuts, calls=(long, replace(long, at_s=10.0))), seed)
    first, second = stories(journal)
    assert (first.answered_by, second.answered_by) == ("node-0", "cloud-a")
    assert second.passed_over("node-0", "unfit")
    assert len([*logged(journal, "window_smaller_than_declared")]) == 1


@seeds
@pytest.mark.parametrize("streamed", [True, False])
def test_n24_an_engine_that_refuses_what_does_not_fit_is_as_sound_as_before(seed: int, streamed: bool) -> None:
    refuses = nodes(1, engine=Engine.OLLAMA, window=32_768, real_window=4096, habits=(Habit.REFUSES_LONG,))
    long = CallDraft(at_s=3.0, prompt_words=WORDS_OF_7900_TOKENS, streamed=streamed)
    journal = played(Draft(nodes=refuses, calls=(*[long] * 4, CallDraft(at_s=10.0))), seed)
    *first, last = stories(journal)
    assert {(story.call.status, story.call.code) for story in first} == {(400, "context_length_exceeded")}
    assert last.answered_by == "node-0"
    assert worst(journal, "node-0") == HEALTHY


@seeds
@pytest.mark.parametrize("engine", [Engine.OLLAMA, Engine.VLLM, Engine.AGENT])
@pytest.mark.parametrize("streamed", [True, False])
def test_n27_an_answer_of_another_model_on_the_same_port_is_nobodys_to_see(
    seed: int, engine: Engine, streamed: bool
) -> None:
    reused = Fault("other_model", "node-0", 5.0, 60.0)
    draft = Draft(
        nodes=nodes(1, engine=engine), calls=calls(140, 1.0, tokens=5, streamed=streamed), faults=(reused,)
    )
    journal = played(draft, seed)
    told = stories(journal)
    asked = asked_of(journal, "node-0")
    assert any(one.says("other_model") for one in asked)
    assert not any(OTHER_MODEL in str(fact.members["models"]) for fact in journal.of("call_ended"))
    assert [story for story in told if not story.answered_by] == []
    assert min(healings(journal, "node-0")) > 66.0, "a token of another model heals nothing"
    assert any(one.says("other_model") for one in loads_asked(journal, "node-0"))
    assert told[-1].answered_by == "node-0"
