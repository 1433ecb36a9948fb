"""What a machine does besides its dialect."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from ktms.domain.call import Route
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.ports.upstream import Prologue
from sim.draft import Engine, Habit, NodeDraft
from sim.fakes.habits import OPTIONS_LOAD_S
from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import LLAMA_CPP, OLLAMA, OPENAI, VLLM

Make = Callable[..., Desk]

PATIENT = Timers(pool_s=5, connect_s=5, first_token_s=2 * OPTIONS_LOAD_S, idle_s=45, total_s=4 * OPTIONS_LOAD_S)
LOOK = Timers(pool_s=2, connect_s=2, first_token_s=2, idle_s=2, total_s=2)

MODELS = Prologue("GET", "/v1/models", ())
EMBEDDINGS = "/v1/embeddings"

LONG = {"messages": [{"role": "user", "content": "call=c1 tokens=3 " + "word " * 6000}]}


def with_habit(draft: NodeDraft, *habits: Habit, **members: object) -> NodeDraft:
    return replace(draft, habits=habits, **members)  # type: ignore[arg-type]  # members by name


def test_a_vendor_has_none(desk: Make) -> None:
    assert desk(OPENAI).target.quirks.habits == ()


def test_a_machine_that_is_deaf_while_it_writes_answers_looks_when_it_is_idle(desk: Make) -> None:
    at = desk(with_habit(VLLM, Habit.DEAF_WHILE_BUSY, token_s=1.0))
    assert at.get("/v1/models", timers=LOOK).status == 200

    async def look_while_it_writes() -> None:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(at.asking(chat(tokens=10)))
            await asyncio.sleep(3.0)
            seen = await at.exchange(replace(at.request(b"", timers=LOOK), prologue=MODELS), None)
        assert seen.failure is FailureKind.TOTAL_TIMEOUT
        assert asking.result().status == 200

    at.run(look_while_it_writes())
    assert at.get("/v1/models", timers=LOOK).status == 200


@pytest.mark.parametrize("draft", [OLLAMA, VLLM, LLAMA_CPP], ids=lambda draft: draft.name)
def test_a_machine_for_embeddings_refuses_a_chat_with_400(desk: Make, draft: NodeDraft) -> None:
    at = desk(with_habit(draft, Habit.EMBEDS_ALONE))
    refused, embedded = at.post(whole()), at.post({"model": at.target.models[0], "input": "x"}, path=EMBEDDINGS)
    assert (refused.status, embedded.status) == (400, 200)
    assert "does not support chat" in refused.error.message
    assert embedded.whole(Route.EMBEDDINGS).finished


@pytest.mark.parametrize("engine", [Engine.OLLAMA, Engine.AGENT])
@pytest.mark.parametrize(
    "members", [{"num_ctx": 4096}, {"options": {"num_ctx": 4096}}, {"keep_alive": 0}, {"keep_alive": "0"}]
)
def test_options_in_a_body_have_the_model_loaded_anew(
    desk: Make, engine: Engine, members: dict[str, object]
) -> None:
    at = desk(with_habit(replace(OLLAMA, engine=engine), Habit.HEEDS_OPTIONS))
    assert at.post(whole("c1"), timers=PATIENT).took_s < 5
    assert at.post(whole("c2") | members, timers=PATIENT).took_s > OPTIONS_LOAD_S
    assert at.post(whole("c3"), timers=PATIENT).took_s < 5
    assert len(at.facts("model_gone")) == 1


@pytest.mark.parametrize(
    "members", [{}, {"num_ctx": 8192}, {"options": {}}, {"options": 7}, {"keep_alive": "5m"}, {"keep_alive": None}]
)
def test_options_that_are_as_they_were_load_nothing(desk: Make, members: dict[str, object]) -> None:
    at = desk(with_habit(OLLAMA, Habit.HEEDS_OPTIONS))
    assert at.post(whole() | members).took_s < 5


def test_without_the_habit_no_option_is_heeded(desk: Make) -> None:
    assert desk(OLLAMA).post(whole() | {"num_ctx": 1}).took_s < 5


@pytest.mark.parametrize(("habits", "status"), [((), 200), ((Habit.REFUSES_LONG,), 400)])
def test_a_prompt_beyond_the_real_window_is_cut_or_refused(
    desk: Make, habits: tuple[Habit, ...], status: int
) -> None:
    at = desk(with_habit(OLLAMA, *habits, window=32_768, real_window=4096))
    assert at.post(whole() | LONG).status == status
    assert at.told.members["prompt_cut"] is (status == 200)


def test_a_prompt_that_fits_is_read_to_its_end(desk: Make) -> None:
    at = desk(replace(OLLAMA, window=32_768))
    assert at.post(whole() | LONG).status == 200
    assert not at.told.has("prompt_cut")
