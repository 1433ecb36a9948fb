"""When the parts of an answer come."""

import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import OPENAI, VLLM

Make = Callable[..., Desk]


@pytest.mark.parametrize("asked", [chat, whole])
def test_an_answer_takes_about_as_long_as_its_draft_says(
    desk: Make, asked: Callable[[str, int], dict[str, object]]
) -> None:
    at = desk(replace(OPENAI, first_token_s=0.5, token_s=0.1), wire=False)
    took = [at.post(asked(f"c{n}", 11)).took_s for n in range(60)]
    assert statistics.median(took) == pytest.approx(0.5 + 10 * 0.1, rel=0.1)
    assert len(set(took)) == len(took)


@pytest.mark.parametrize("per_piece", [1, 3, 50])
def test_joining_tokens_changes_neither_text_nor_time_by_much(desk: Make, per_piece: int) -> None:
    at = desk(replace(OPENAI, first_token_s=0.001, token_s=0.1), wire=False, tokens_per_piece=per_piece)
    seen = at.post(chat(tokens=50))
    assert seen.text == "".join(f"1.{n} " for n in range(1, 51))
    assert seen.took_s == pytest.approx(
        49 * 0.1 if per_piece == 1 else 50 * 0.1 - per_piece * 0.1, rel=0.25, abs=0.2
    )


@pytest.mark.parametrize("asked", [chat, whole])
def test_each_token_of_a_prompt_takes_its_time_to_read(
    desk: Make, asked: Callable[[str, int], dict[str, object]]
) -> None:
    quick, slow = (
        desk(replace(VLLM, first_token_s=0.001, prefill_token_s=each_s), wire=False).post(asked("c1", 1)).took_s
        for each_s in (0.0, 0.5)
    )
    assert slow - quick == pytest.approx(0.5 * round((slow - quick) / 0.5))
    assert slow > 1.0
