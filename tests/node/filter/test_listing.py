import json
from dataclasses import replace
from typing import Any

import pytest

from ktms.dialects.openai_chat.models_list import read_models
from ktms.domain.catalogue import EngineKind
from ktms.node.filter.listing import listing, state_header
from ktms.node.filter.refused import Refused
from ktms.node.state import EngineState, ModelState, NodeState
from tests.node.filter.gate import settings_of

KNOWN = ModelState("qwen3:4b", context_window=8192, loaded=True, on_gpu=1.0, tokens_per_s=41.5)
ENGINE = EngineState(
    EngineKind.OLLAMA,
    answers=True,
    version="0.33.0",
    slots=4,
    busy=1,
    models=(KNOWN, ModelState("bare:1b"), ModelState("x:cloud")),
)


def told(engine: EngineState = ENGINE, *, under_way: int = 0, slots: int | None = None) -> list[dict[str, Any]]:
    state = NodeState(engine, under_way=under_way)
    text = listing(settings_of(slots=slots), state)
    assert isinstance(text, bytes)
    document = json.loads(text)
    assert document["object"] == "list"
    entries: list[dict[str, Any]] = document["data"]
    return entries


def test_all_that_is_known_stands_beside_each_model() -> None:
    assert told()[0] == {
        "id": "qwen3:4b",
        "object": "model",
        "created": 0,
        "owned_by": "ollama",
        "ktms": {
            "loaded": True,
            "context_window": 8192,
            "slots": 4,
            "busy": 1,
            "engine": "ollama",
            "engine_version": "0.33.0",
            "on_gpu": True,
            "tokens_per_second": 41.5,
        },
    }


def test_what_is_not_known_is_null() -> None:
    own = told()[1]["ktms"]
    assert [own[name] for name in ("loaded", "context_window", "on_gpu", "tokens_per_second")] == [None] * 4


def test_stubs_for_clouds_are_not_listed() -> None:
    assert [entry["id"] for entry in told()] == ["qwen3:4b", "bare:1b"]


@pytest.mark.parametrize(("share", "on_gpu"), [(1.0, True), (0.9995, True), (0.6, False), (0.0, False)])
def test_a_model_is_on_the_gpu_when_all_of_it_is(share: float, on_gpu: bool) -> None:
    assert told(replace(ENGINE, models=(replace(KNOWN, on_gpu=share),)))[0]["ktms"]["on_gpu"] is on_gpu


def test_a_node_is_as_busy_as_we_or_its_engine_say() -> None:
    assert told(under_way=3)[0]["ktms"]["busy"] == 3
    assert told(replace(ENGINE, busy=5), under_way=3)[0]["ktms"]["busy"] == 5
    assert told(replace(ENGINE, busy=None), under_way=2)[0]["ktms"]["busy"] == 2


def test_the_owners_word_on_slots_counts() -> None:
    assert told(slots=2)[0]["ktms"]["slots"] == 2


def test_an_engine_that_does_not_answer_has_no_list() -> None:
    text = listing(settings_of(), NodeState(replace(ENGINE, answers=False)))
    assert isinstance(text, Refused)
    assert text.status == 503


def test_the_gateway_reads_what_is_written() -> None:
    text = listing(settings_of(), NodeState(ENGINE))
    assert isinstance(text, bytes)
    read = read_models(text)
    assert read is not None
    assert (read.slots, read.busy, read.engine, read.on_gpu, len(read.models)) == (4, 1, "ollama", True, 2)


def test_the_state_is_said_in_a_word() -> None:
    state = NodeState(ENGINE)
    assert state_header(state) == ("X-KTMS-Node-State", "ready")
    state.drain()
    assert state_header(state) == ("X-KTMS-Node-State", "draining")
