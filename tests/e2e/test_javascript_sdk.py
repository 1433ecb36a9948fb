"""The OpenAI SDK for JavaScript, unmodified, through `ktms up` to a real llama.cpp."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ktms.config.environment import process_environment
from tests.e2e import declared
from tests.e2e.conftest import Gateway
from tests.e2e.engine.llama_process import LlamaServer, ask
from tests.e2e.program import environment
from tests.e2e.waiting import until

FOLDER = Path(__file__).parent / "node"

FREED_WITHIN_S = 1.0
"""How soon a slot is free once its client has left (docs/api.md, Streaming)."""


def missing() -> str | None:
    """Say what is not there; where CI is, that is an error and no reason to leave these tests out."""
    if process_environment().get("CI"):
        return None
    if shutil.which("node") is None:
        return "node is not installed"
    return None if (FOLDER / "node_modules" / "openai").is_dir() else "make install has not installed npm's openai"


pytestmark = [
    pytest.mark.engine,
    pytest.mark.service,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


@contextmanager
def acting(gateway: Gateway, act: str, model: str, key: str) -> Iterator[subprocess.Popen[str]]:
    variables = {"OPENAI_BASE_URL": f"{gateway.url}/v1", "OPENAI_API_KEY": key}
    with subprocess.Popen(
        ["node", "client.mjs", act, model],
        cwd=FOLDER,
        env=environment(gateway.up.home.folder, **variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def told(process: subprocess.Popen[str]) -> Any:
    assert process.stdout
    return json.loads(process.stdout.readline())


def act(gateway: Gateway, act: str, model: str = declared.HOUSE, key: str = declared.APP_KEY) -> Any:
    with acting(gateway, act, model, key) as process:
        return told(process)


def busy_slots(server: LlamaServer) -> int:
    return sum(slot["is_processing"] for slot in json.loads(ask(server, "/slots")[2]))


def test_a_chat_is_answered_under_the_public_name(gateway: Gateway) -> None:
    answer = act(gateway, "chat", declared.ALIAS)
    assert answer["model"] == declared.HOUSE
    assert answer["text"]
    assert answer["usage"]["completion_tokens"] > 0


def test_a_stream_says_what_the_whole_answer_says(gateway: Gateway) -> None:
    whole, stream = act(gateway, "chat"), act(gateway, "stream")
    assert stream["text"] == whole["text"]
    assert stream["models"] == [declared.HOUSE]
    assert stream["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]


def test_the_models_of_the_key_are_listed(gateway: Gateway) -> None:
    assert act(gateway, "models", key=declared.NARROW_KEY) == {"names": [declared.CLOUD]}


def test_an_abort_frees_the_slot_within_a_second(gateway: Gateway) -> None:
    with acting(gateway, "abort", f"{declared.HOUSE}:nodes-only", declared.APP_KEY) as process:
        assert process.stdin
        assert told(process) == {"streaming": True}
        assert busy_slots(gateway.llama) == 1
        process.stdin.write("abort now\n")
        process.stdin.flush()
        assert told(process) == {"aborted": True}
        until(lambda: busy_slots(gateway.llama) == 0, "the slot is free", FREED_WITHIN_S)


@pytest.mark.parametrize(
    ("model", "key", "error"),
    [
        (declared.HOUSE, "sk-nonsense", ("AuthenticationError", 401, "invalid_api_key")),
        ("nothing", declared.APP_KEY, ("NotFoundError", 404, "model_not_found")),
        (declared.HOUSE, declared.NARROW_KEY, ("PermissionDeniedError", 403, "model_not_allowed")),
    ],
    ids=["a wrong key", "an unknown model", "a model of others"],
)
def test_an_error_becomes_the_class_of_the_sdk(
    gateway: Gateway, model: str, key: str, error: tuple[str, int, str]
) -> None:
    name, status, code = error
    assert act(gateway, "error", model, key) == {"error": name, "status": status, "code": code}
