"""What becomes of a machine of ours: out of memory, fewer slots, gone; on every engine."""

from collections.abc import Callable

import pytest

from sim.draft import NodeDraft
from tests.sim.fakes.desk import Desk, whole
from tests.sim.fakes.targets import AGENT, LLAMA_CPP, OLLAMA, TGI, VLLM

Make = Callable[..., Desk]


@pytest.mark.parametrize("draft", [OLLAMA, VLLM, TGI, AGENT], ids=lambda draft: draft.name)
def test_whoever_asks_first_waits_until_the_model_is_loaded(desk: Make, draft: NodeDraft) -> None:
    at = desk(draft)
    at.target.fault("evicted", 5.0, on=True)
    first, second = at.post(whole("c1")), at.post(whole("c2"))
    assert (first.status, second.status) == (200, 200)
    assert first.took_s > 5 > second.took_s
    assert [fact.kind for fact in at.facts("model_gone")] + [fact.kind for fact in at.facts("model_loaded")] == [
        "model_gone",
        "model_loaded",
    ]


def test_llama_cpp_says_that_it_loads_until_it_has(desk: Make) -> None:
    at = desk(LLAMA_CPP)
    at.target.fault("evicted", 5.0, on=True)
    assert at.post(whole("c1")).status == 503
    at.pass_s(4.0)
    assert at.post(whole("c2")).status == 503
    at.pass_s(2.0)
    assert at.post(whole("c3")).status == 200
    assert at.suffered == ["FN4", "FN4"]


def test_nobody_is_waited_for_where_nobody_asks(desk: Make) -> None:
    at = desk(LLAMA_CPP)
    at.target.fault("evicted", 1.0, on=True)
    at.pass_s(10.0)
    assert at.post(whole("c1")).status == 503


def test_a_model_in_use_stays_until_the_machine_is_idle(desk: Make) -> None:
    at = desk(OLLAMA)
    at.target.running = 1
    at.target.fault("evicted", 5.0, on=True)
    at.get("/v1/models")
    before = at.target.quirks.cold
    at.target.running = 0
    at.get("/v1/models")
    assert (before, at.target.quirks.cold) == (False, True)


def test_a_look_loads_nothing(desk: Make) -> None:
    at = desk(OLLAMA)
    at.target.fault("evicted", 5.0, on=True)
    at.get("/v1/models")
    at.pass_s(10.0)
    assert at.target.quirks.cold


def test_it_is_in_memory_when_the_fault_is_over(desk: Make) -> None:
    at = desk(OLLAMA)
    at.target.fault("evicted", 50.0, on=True)
    at.target.fault("evicted", on=False)
    assert at.post(whole()).took_s < 5


def test_it_has_fewer_slots_than_was_declared_for_a_while(desk: Make) -> None:
    at = desk(TGI)
    at.target.fault("fewer_slots", 1.0, on=True)
    before = at.target.slots
    at.target.fault("fewer_slots", on=False)
    assert (before, at.target.slots, at.target.slots_declared) == (1, 4, 4)


def test_an_answer_of_another_model_is_noted_as_such(desk: Make) -> None:
    at = desk(VLLM)
    at.target.fault("other_model", on=True)
    at.post(whole())
    assert at.told.members["other_model"] is True
