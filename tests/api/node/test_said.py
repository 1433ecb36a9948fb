import json

import pytest

from ktms.api.node.said import read_said
from ktms.domain.access.secret import Secret
from ktms.domain.announcement import AnnouncedModel, Announcement
from ktms.domain.catalogue import EngineKind
from ktms.domain.errors import CallFailed
from tests.api.node.yard import EPOCH_MS, SAID


def test_every_member_is_read() -> None:
    assert read_said(json.dumps(SAID).encode()) == Announcement(
        url="http://10.0.0.7:8790",
        token=Secret("canary-node-token"),
        engine=EngineKind.OLLAMA,
        epoch_ms=EPOCH_MS,
        slots=4,
        models=(AnnouncedModel("qwen3:4b", 8192, loaded=True), AnnouncedModel("llama3", None, loaded=False)),
        draining=False,
        engine_version="0.32.1",
    )


def test_a_certificate_is_read() -> None:
    assert read_said(json.dumps({**SAID, "certificate": "any"}).encode()).certificate == "any"


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("slots", "4", "slots: expected int, got str."),
        ("models", [{"name": 1}], "models.0.name: expected str, got int."),
        ("models", [{"nom": 1}], "models.0.name: is missing."),
        ("engine", "x", "engine: must be one of agent, ollama, vllm, tgi, llamacpp."),
    ],
)
def test_a_wrong_member_is_told_in_one_line(member: str, value: object, message: str) -> None:
    with pytest.raises(CallFailed) as failed:
        read_said(json.dumps({**SAID, member: value}).encode())
    assert failed.value.problem.message == message


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(CallFailed):
        read_said(json.dumps({**SAID, "engine_version": "\ud800"}).encode())
