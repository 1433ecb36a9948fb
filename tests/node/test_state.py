import asyncio
from dataclasses import replace

from tests.node.nodes import SEEN, seen


def test_how_busy_and_fast_an_engine_is_is_no_news() -> None:
    state = seen()
    models = tuple(replace(model, tokens_per_s=31.0) for model in SEEN.models)
    state.saw(replace(SEEN, busy=3, models=models))
    assert not state.news.is_set()
    assert state.engine.busy == 3


def test_another_window_is_news() -> None:
    state = seen()
    state.saw(replace(SEEN, models=SEEN.models[:1]))
    assert state.news.is_set()


async def test_quiet_comes_with_the_end_of_the_last_answer() -> None:
    state = seen()
    state.begin()
    state.begin()
    async with asyncio.TaskGroup() as group:
        quiet = group.create_task(state.quiet())
        state.end()
        await asyncio.sleep(0)
        assert not quiet.done()
        state.end()


async def test_who_answers_nothing_is_quiet_at_once() -> None:
    await seen().quiet()
