import json
from dataclasses import replace
from typing import Any

import pytest

from ktms.api.node.said import read_said
from ktms.domain.announcement import announcement_complaints
from ktms.domain.catalogue import EngineKind
from ktms.node.said import Place, said_of
from ktms.node.settings import NodeSettings, Tls
from ktms.node.state import EngineState, NodeState
from tests.node.nodes import EPOCH_MS, SEEN, TOKEN, seen, settings

PLACE = Place("http://10.0.0.7:8790")


def said(of: NodeSettings, state: NodeState | None = None, place: Place = PLACE) -> dict[str, Any]:
    found = said_of(of, state or seen(), place, EPOCH_MS)
    assert found is not None
    return found


def test_what_is_said_is_what_a_gateway_takes() -> None:
    announcement = read_said(json.dumps(said(settings())).encode())
    assert list(announcement_complaints(announcement)) == []
    assert (announcement.engine, announcement.engine_version) == (EngineKind.AGENT, "ollama 0.32.1")
    assert (announcement.slots, announcement.epoch_ms) == (4, EPOCH_MS)
    assert announcement.token is not None
    assert announcement.token.reveal() == TOKEN


@pytest.mark.parametrize(
    ("state", "place"),
    [(NodeState(EngineState(EngineKind.VLLM)), PLACE), (seen(), None)],
    ids=["no look", "no place"],
)
def test_nothing_is_said_before_engine_and_place_are_known(state: NodeState, place: Place | None) -> None:
    assert said_of(settings(), state, place, EPOCH_MS) is None


def test_an_engine_that_went_away_is_still_announced_with_what_it_had() -> None:
    assert [model["name"] for model in said(settings(), seen(replace(SEEN, answers=False)))["models"]] == [
        "qwen3:4b",
        "llama3:latest",
    ]


def test_only_the_models_that_the_owner_named_are_said() -> None:
    assert [model["name"] for model in said(settings(models=("llama3",)))["models"]] == ["llama3:latest"]


def test_the_owners_slots_come_before_the_engines() -> None:
    assert said(settings(slots=2))["slots"] == 2
    assert said(settings(), seen(replace(SEEN, slots=None)))["slots"] == 1


def test_who_is_about_to_leave_says_so() -> None:
    state = seen()
    state.leave()
    assert said(settings(), state)["draining"] is True


@pytest.mark.parametrize(
    ("tls", "url", "told"),
    [
        (Tls.ON, "https://10.0.0.7:8790", "ab" * 32),
        (Tls.INSECURE, "https://10.0.0.7:8790", "any"),
        (Tls.OFF, "http://10.0.0.7:8790", None),
    ],
)
def test_the_certificate_is_said_where_there_is_tls(tls: Tls, url: str, told: str | None) -> None:
    assert said(settings(tls=tls), place=Place(url, "ab" * 32)).get("certificate") == told
