"""Slots of a llama.cpp server: how many work, and how fast."""

import pytest

from ktms.node.engines.llama_slots import LlamaSlots


def slot(task: int, tokens: int, *, works: bool = True, old: bool = False) -> dict[str, object]:
    decoded = {"n_decoded": tokens}
    return {"is_processing": works, "id_task": task, "next_token": decoded if old else [decoded]}


def test_slots_that_work_are_busy() -> None:
    slots = LlamaSlots()
    slots.hear([slot(1, 3), slot(2, 9, works=False), {}, "odd"], 0.0)
    assert slots.busy == 1


@pytest.mark.parametrize("page", [None, {}, {"error": {}}, "x"])
def test_what_is_no_list_tells_nothing(page: object) -> None:
    slots = LlamaSlots()
    slots.hear([slot(1, 3)], 0.0)
    slots.hear(page, 1.0)
    assert slots.busy is None


@pytest.mark.parametrize("old", [True, False])
def test_the_progress_of_a_task_is_the_speed_of_a_stream(old: bool) -> None:
    slots = LlamaSlots()
    slots.hear([slot(1, 10, old=old), slot(2, 10, old=old)], 0.0)
    slots.hear([slot(1, 50, old=old), slot(2, 30, old=old)], 1.0)
    assert slots.tokens_per_s == 30


def test_another_task_in_the_slot_is_no_progress() -> None:
    slots = LlamaSlots()
    slots.hear([slot(1, 10)], 0.0)
    slots.hear([slot(2, 90)], 1.0)
    assert slots.tokens_per_s is None


def test_a_stream_that_has_not_begun_is_no_sample() -> None:
    slots = LlamaSlots()
    slots.hear([slot(1, 0)], 0.0)
    slots.hear([slot(1, 90)], 1.0)
    assert slots.tokens_per_s is None


def test_a_speed_stays_when_nothing_runs() -> None:
    slots = LlamaSlots()
    slots.hear([slot(1, 10)], 0.0)
    slots.hear([slot(1, 50)], 1.0)
    slots.hear([slot(1, 50, works=False)], 2.0)
    assert slots.tokens_per_s == 40
