"""The agent's habits, by name."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from ktms.dialects.openai_chat.models_list import read_models
from ktms.domain.ids import VendorModel
from sim.draft import VENDOR_MODEL
from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import AGENT

Make = Callable[..., Desk]
LISTED = VendorModel(f"{VENDOR_MODEL}:latest")


def test_the_list_of_models_says_all_that_it_knows(desk: Make) -> None:
    told = read_models(desk(AGENT).get("/v1/models").body)
    assert told is not None
    assert (told.slots, told.busy, told.engine, told.on_gpu) == (4, 0, "ollama", True)
    assert (told.models[LISTED].loaded, told.models[LISTED].window) == (True, 8192)


def test_it_may_say_more_slots_than_there_are(desk: Make) -> None:
    told = read_models(desk(replace(AGENT, real_slots=1, slots_told=8)).get("/v1/models").body)
    assert told is not None
    assert told.slots == 8


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/embeddings"])
def test_there_is_no_route_but_chat(desk: Make, path: str) -> None:
    assert desk(AGENT).post({"model": VENDOR_MODEL, "prompt": "call=c1 tokens=1"}, path=path).status == 404


def test_what_is_asked_beyond_its_slots_is_busy(desk: Make) -> None:
    at = desk(AGENT)
    at.target.running = 4
    seen = at.post(whole())
    at.target.running = 0
    assert (seen.status, seen.error.code, seen.header("retry-after")) == (503, "busy", "1")
    assert at.suffered == ["FN2"]


def test_one_that_drains_takes_nothing_new_and_says_so(desk: Make) -> None:
    at = desk(AGENT)
    at.target.fault("draining", on=True)
    seen, listed = at.post(chat()), at.get("/v1/models")
    assert (seen.status, seen.error.code, at.suffered) == (503, None, ["FN3"])
    assert listed.header("x-ktms-node-state") == "draining"
    at.target.fault("draining", on=False)
    assert at.get("/v1/models").header("x-ktms-node-state") == "ready"


def test_a_model_that_was_evicted_is_said_not_to_be_loaded(desk: Make) -> None:
    at = desk(AGENT)
    at.target.fault("evicted", 5.0, on=True)
    told = read_models(at.get("/v1/models").body)
    assert told is not None
    assert told.models[LISTED].loaded is False
