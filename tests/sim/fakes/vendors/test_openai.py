"""OpenAI's habits, by name."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import OPENAI

Make = Callable[..., Desk]


@pytest.mark.parametrize("headers", [(), (("Authorization", "Basic x"),), (("api-key", "k"),)])
def test_no_bearer_key_is_401(desk: Make, headers: tuple[tuple[str, str], ...]) -> None:
    seen = desk(OPENAI).post(whole(), headers=headers)
    assert (seen.status, seen.error.code) == (401, "invalid_api_key")


def test_a_key_that_no_longer_counts_is_401(desk: Make) -> None:
    at = desk(OPENAI)
    at.target.quirks.refused_keys = ("k",)
    assert at.post(whole()).status == 401
    assert at.post(whole(), headers=(("Authorization", "Bearer other"),)).status == 200


def test_a_vendor_without_keys_wants_none(desk: Make) -> None:
    assert desk(replace(OPENAI, keys=0)).post(whole(), headers=()).status == 200


def test_an_unknown_model_is_404(desk: Make) -> None:
    seen = desk(OPENAI).post(whole(model="other"))
    assert (seen.status, seen.error.code) == (404, "model_not_found")


def test_usage_is_null_until_its_own_chunk_and_padding_is_never_text(desk: Make) -> None:
    seen = desk(OPENAI, wire=False).post(chat(tokens=2))
    *chunks, usage = seen.chunks
    assert {chunk["usage"] for chunk in chunks} == {None}
    assert all(chunk["obfuscation"] for chunk in chunks)
    assert (usage["choices"], usage["usage"]["completion_tokens"], "obfuscation" in usage) == ([], 2, False)
    assert seen.stream.content_bytes == len("1.1 1.2 ")


def test_answers_are_numbered(desk: Make) -> None:
    at = desk(OPENAI)
    assert [at.post(whole()).header("x-request-id") for _ in range(2)] == ["req_1", "req_2"]
