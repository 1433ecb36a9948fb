"""One window for all answers of a machine."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from sim.draft import Habit
from tests.sim.fakes.desk import Desk, Seen, chat, whole
from tests.sim.fakes.targets import LLAMA_CPP

Make = Callable[..., Desk]

SHARED = replace(LLAMA_CPP, window=None, real_window=1024, habits=(Habit.SHARES_WINDOW,))


def prompt(call: str, tokens: int, words: int) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": f"call={call} tokens={tokens} " + "word " * words}]}


def at_once(at: Desk, count: int, words: int, *, tokens: int = 30, streamed: bool = True) -> list[Seen]:
    """Ask for so many answers at the same time."""
    body = chat if streamed else whole

    async def all_of_them() -> list[Seen]:
        asked = [at.asking(body() | prompt(f"c{number}", tokens, words)) for number in range(count)]
        return await asyncio.gather(*asked)

    return at.run(all_of_them())


def test_each_slot_tells_the_window_of_all(desk: Make) -> None:
    assert desk(SHARED).get("/v1/models").json["data"][0]["meta"]["n_ctx"] == 1024
    assert desk(replace(LLAMA_CPP, window=256)).get("/v1/models").json["data"][0]["meta"]["n_ctx"] == 1024


@pytest.mark.parametrize("streamed", [True, False])
def test_answers_that_fit_together_end_well(desk: Make, streamed: bool) -> None:
    seen = at_once(desk(SHARED), 4, 150, streamed=streamed)
    assert [one.status for one in seen] == [200] * 4
    if streamed:
        assert all(one.stream.finished for one in seen)


def test_all_streams_die_where_their_prompts_do_not_fit_together(desk: Make) -> None:
    at = desk(SHARED)
    seen = at_once(at, 4, 320)
    begun = [one for one in seen if one.status == 200]
    assert begun
    assert all(one.stream.error is not None and not one.stream.finished for one in begun)
    assert {one.status for one in seen} <= {200, 500}, "those that had not begun die with a status"
    assert at.suffered.count("FV8") == len(begun)


def test_whole_answers_die_with_a_status(desk: Make) -> None:
    at = desk(SHARED)
    assert [one.status for one in at_once(at, 4, 320, streamed=False)] == [500] * 4
    assert at.suffered == ["FV1"] * 4


def test_streams_that_grow_beyond_it_die_in_the_middle(desk: Make) -> None:
    seen = at_once(desk(replace(SHARED, real_window=300)), 2, 80, tokens=60)
    assert all(one.text and one.stream.error is not None for one in seen)


def test_the_next_answer_finds_the_window_empty(desk: Make) -> None:
    at = desk(SHARED)
    at_once(at, 4, 320)
    assert at.post(whole("last")).status == 200
