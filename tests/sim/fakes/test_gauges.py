"""What the metrics of a machine say: per engine, some time ago, the calls of others among it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from ktms.domain.capacity.engine_metrics import EngineLoad, read_engine_metrics
from sim.draft import Engine, Habit, NodeDraft
from tests.sim.fakes.desk import Desk, whole
from tests.sim.fakes.targets import LLAMA_CPP, OLLAMA, OPENAI, TGI, VLLM

Make = Callable[..., Desk]


def load(at: Desk) -> EngineLoad:
    return read_engine_metrics(at.get("/metrics").body)


@pytest.mark.parametrize("draft", [VLLM, LLAMA_CPP, TGI], ids=lambda draft: draft.name)
def test_calls_of_others_run_in_every_engine(desk: Make, draft: NodeDraft) -> None:
    told = load(desk(replace(draft, slots=16, elsewhere=(3, 5))))
    assert (told.running, told.waiting) == (8, 0)


def test_n09_each_engine_of_vllm_has_a_series_of_its_own(desk: Make) -> None:
    body = desk(replace(VLLM, slots=16, elsewhere=(3, 5))).get("/metrics").body
    lines = [line for line in body.splitlines() if line.startswith(b"vllm:num_requests_running{")]
    assert [(b'engine="%d"' % number in line, line.split()[-1]) for number, line in enumerate(lines)] == [
        (True, b"3.0"),
        (True, b"5.0"),
    ]


@pytest.mark.parametrize("habits", [(), (Habit.OLD_METRICS,)])
def test_n12_the_cache_has_an_older_name(desk: Make, habits: tuple[Habit, ...]) -> None:
    at = desk(replace(VLLM, slots=8, elsewhere=(2,), habits=habits))
    assert (b"gpu_cache_usage_perc" in at.get("/metrics").body) is bool(habits)
    assert load(at).kv_used == 0.25


def test_what_is_spread_over_engines_is_all_there(desk: Make) -> None:
    at = desk(replace(VLLM, slots=16, elsewhere=(0, 0, 0)))
    at.target.gauges.note(7, 2)
    assert at.target.gauges.told() == ((2, 0), (2, 1), (3, 1))


def test_gauges_trail(desk: Make) -> None:
    at = desk(replace(VLLM, gauge_lag_s=5.0, token_s=1.0, first_token_s=1.0))
    at.post(whole(tokens=8))
    assert load(at).running == 1, "it is told what was some seconds ago"
    at.pass_s(6.0)
    assert load(at).running == 0


@pytest.mark.parametrize(("elsewhere", "one_waits"), [((), False), ((1,), True)])
def test_calls_of_others_take_slots(desk: Make, elsewhere: tuple[int, ...], one_waits: bool) -> None:
    at = desk(replace(VLLM, slots=2, elsewhere=elsewhere, token_s=1.0))

    async def both() -> float:
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(at.asking(whole(name, tokens=10))) for name in ("c1", "c2")]
        return max(call.result().took_s for call in calls)

    assert (at.run(both()) > 15) is one_waits


@pytest.mark.parametrize("draft", [OPENAI, OLLAMA], ids=lambda draft: draft.name)
def test_others_have_no_metrics(desk: Make, draft: NodeDraft) -> None:
    assert load(desk(draft)).calls is None


def test_llama_cpp_has_them_only_where_it_was_told_to(desk: Make) -> None:
    at = desk(NodeDraft("node-l", Engine.LLAMA_CPP))
    at.target.quirks.metrics = False
    assert at.get("/metrics").status == 501
