"""Ollama's habits, by name."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from sim.draft import VENDOR_MODEL
from tests.sim.fakes.desk import Desk, chat, whole
from tests.sim.fakes.targets import OLLAMA

Make = Callable[..., Desk]

LONG = {"messages": [{"role": "user", "content": "call=c1 tokens=3 " + "word " * 6000}]}


@pytest.mark.parametrize("name", [f"{VENDOR_MODEL}:latest", VENDOR_MODEL.upper(), VENDOR_MODEL])
def test_a_missing_tag_is_latest_and_case_does_not_count(desk: Make, name: str) -> None:
    assert desk(OLLAMA).post(whole(model=name)).status == 200


@pytest.mark.parametrize("name", [f"{VENDOR_MODEL}:70b", "other"])
def test_an_unknown_model_is_404_and_never_pulled(desk: Make, name: str) -> None:
    seen = desk(OLLAMA).post(whole(model=name))
    assert (seen.status, seen.error.type) == (404, "not_found_error")
    assert seen.error.message == f"model '{name}' not found"
    assert seen.json["error"]["code"] is None


def test_models_are_listed_with_their_tag(desk: Make) -> None:
    assert desk(OLLAMA).get("/v1/models").json["data"][0]["id"] == f"{VENDOR_MODEL}:latest"


def test_a_prompt_that_is_too_long_is_cut_to_half_the_window_in_silence(desk: Make) -> None:
    seen = desk(replace(OLLAMA, window=4096)).post(whole() | LONG)
    assert seen.status == 200
    assert seen.json["usage"]["prompt_tokens"] == 2051


def test_a_model_that_cannot_shift_refuses_a_prompt_that_is_too_long(desk: Make) -> None:
    at = desk(replace(OLLAMA, window=4096))
    at.target.quirks.shifts = False
    seen = at.post(whole() | LONG)
    assert (seen.status, seen.error.message) == (400, "prompt is longer than the context length")


def test_the_newer_name_of_max_tokens_is_ignored_in_silence(desk: Make) -> None:
    at = desk(OLLAMA)
    assert at.post(chat(tokens=5, max_completion_tokens=2)).text.count(" ") == 5
    assert at.post(chat(tokens=5, max_tokens=2)).text.count(" ") == 2


def test_role_finish_usage_and_end_mark_each_come_alone(desk: Make) -> None:
    seen = desk(OLLAMA, wire=False).post(chat(tokens=2))
    first, second, finish, usage = seen.chunks
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": "1.1 "}
    assert second["choices"][0]["delta"] == {"content": "1.2 "}
    assert (finish["choices"][0]["delta"], finish["choices"][0]["finish_reason"]) == ({}, "stop")
    assert (usage["choices"], usage["usage"]["completion_tokens"]) == ([], 2)


def test_thinking_comes_as_reasoning(desk: Make) -> None:
    at = desk(OLLAMA)
    at.target.quirks.thinking_tokens = 1
    first, second, *_ = at.post(chat(tokens=2)).chunks
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": "", "reasoning": "1.1 "}
    assert second["choices"][0]["delta"] == {"content": "1.2 "}


@pytest.mark.parametrize(("events", "row"), [(0, "FV1"), (2, "FV3")])
def test_a_failure_in_a_stream_is_an_empty_chunk_without_finish_or_end_mark(
    desk: Make, events: int, row: str
) -> None:
    at = desk(OLLAMA)
    at.target.fault("error_in_200", events, on=True)
    seen = at.post(chat(tokens=5))
    assert (seen.failure, seen.stream.error, seen.stream.done, seen.stream.finished) == (None, None, False, False)
    assert seen.chunks[-1]["choices"][0] == {"index": 0, "delta": {"content": ""}, "finish_reason": None}
    assert at.suffered == [row]


def test_503_means_that_loads_pile_up(desk: Make) -> None:
    at = desk(OLLAMA)
    at.target.fault("status", 503.0, on=True)
    assert "maximum pending requests exceeded" in at.post(whole()).error.message


def test_a_loading_model_makes_everybody_wait(desk: Make) -> None:
    at = desk(OLLAMA)
    at.target.quirks.loading = True
    at.loop.call_later(7.0, lambda: setattr(at.target.quirks, "loading", False))
    seen = at.post(whole())
    assert seen.status == 200
    assert seen.took_s > 7


def test_it_tells_about_itself(desk: Make) -> None:
    at = desk(replace(OLLAMA, window=32_768))
    assert at.get("/").body == b"Ollama is running"
    assert at.get("/api/version").json["version"]
    assert at.get("/api/tags").json["models"][0]["name"] == f"{VENDOR_MODEL}:latest"
    loaded = at.get("/api/ps").json["models"][0]
    assert (loaded["context_length"], loaded["size_vram"] == loaded["size"]) == (32_768, True)
    assert at.get("/api/show", "POST").json["model_info"]["llama.context_length"] == 131_072
    assert at.get("/metrics").status == 404
