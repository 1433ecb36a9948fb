"""What own engines tell in a stream beside the text: who answers, their clock, and how they fail."""

import json

import pytest

from ktms.dialects.openai_chat.stream import DONE, StreamObserver
from ktms.domain.call import Route
from ktms.domain.capacity.speed import EngineTimings

HEAD = '"id":"c-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-2024"'


def chunk(delta: str, *, finish: str = "null", more: str = "") -> bytes:
    choice = f'{{"index":0,"delta":{delta},"finish_reason":{finish}}}'
    return f'data: {{{HEAD},"choices":[{choice}]{more}}}\n\n'.encode()


def text(content: str, more: str = "") -> bytes:
    return chunk(json.dumps({"content": content}), more=more)


def observer() -> StreamObserver:
    return StreamObserver("public", route=Route.CHAT, usage_asked=False)


def named(event: bytes) -> bytes:
    return event.replace(b"gpt-4o-2024", b"public")


USAGE = '"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}'


def test_n27_the_name_that_was_told_is_known_before_anything_visible_comes_out() -> None:
    watch = observer()
    watch.feed(chunk('{"role":"assistant"}'))
    assert (watch.model_told, watch.visible) == ("gpt-4o-2024", False)


def test_n27_the_first_name_counts() -> None:
    watch = observer()
    watch.feed(text("a") + text("b") + text("c").replace(b"gpt-4o-2024", b"other"))
    assert watch.model_told == "gpt-4o-2024"


def test_an_empty_name_is_none_and_the_next_one_counts() -> None:
    watch = observer()
    watch.feed(b'data: {"model":"","choices":[]}\n\n')
    assert watch.model_told is None
    watch.feed(b'data: {"model":7,"choices":[]}\n\ndata: {"model":"caf\\u00e9","choices":[]}\n\n')
    assert watch.model_told == "café"


def test_a_name_without_end_is_cut() -> None:
    watch = observer()
    watch.feed(b'data: {"model":"%b","choices":[]}\n\n' % (b"x" * 100_000))
    assert watch.model_told == "x" * 256


def test_a_name_that_is_no_utf8_is_none() -> None:
    watch = observer()
    event = b'data: {"model":"\xff","choices":[]}\n\n'
    watch.feed(event)
    assert watch.model_told is None


def test_n29_ollamas_failure_midway_is_no_end() -> None:
    watch = observer()
    out = watch.feed(text("a") + text(""))
    assert watch.end() == b""
    assert out == named(text("a") + text(""))
    assert (watch.visible, watch.finished, watch.done, watch.error) == (True, False, False, None)


@pytest.mark.parametrize(
    ("kind", "status"),
    [("overloaded", 429), ("validation", 422), ("generation", 500), ("incomplete_generation", 500)],
)
@pytest.mark.parametrize("before", [b"", text("a")])
def test_tgis_flat_error_ends_a_stream_at_any_place(kind: str, status: int, before: bytes) -> None:
    watch = observer()
    event = f'data: {{"error":"it broke","error_type":"{kind}"}}\n\n'.encode()
    assert watch.feed(before + event) == named(before)
    assert watch.error is not None
    assert (watch.error.status, watch.error.type, watch.error.message) == (status, kind, "it broke")


def clock(predicted: int) -> str:
    return f',"timings":{{"prompt_n":9,"prompt_ms":20.5,"predicted_n":{predicted},"predicted_ms":100.25}}'


def test_llama_cpps_clock_stands_on_its_finish_or_on_its_usage() -> None:
    watch = observer()
    watch.feed(text("a") + chunk("{}", finish='"stop"', more=clock(1)) + DONE)
    assert watch.timings == EngineTimings(9, 20.5, 1, 100.25)

    watch = observer()
    watch.feed(
        text("a")
        + chunk("{}", finish='"stop"')
        + f'data: {{{HEAD},"choices":[],{USAGE}{clock(1)}}}\n\n'.encode()
        + DONE
    )
    assert watch.timings == EngineTimings(9, 20.5, 1, 100.25)


def test_of_clocks_on_every_chunk_the_last_one_counts_even_if_it_came_before() -> None:
    watch = observer()
    for predicted in (1, 2, 1):
        watch.feed(text("a", more=clock(predicted)))
    assert watch.timings == EngineTimings(9, 20.5, 1, 100.25)


@pytest.mark.parametrize("empty", ["null", "7", "{}", "[]"])
def test_an_empty_clock_does_not_wipe_out_the_one_before(empty: str) -> None:
    watch = observer()
    watch.feed(text("a", more=clock(1)) + text("b", more=f',"timings":{empty}'))
    assert watch.timings == EngineTimings(9, 20.5, 1, 100.25)


@pytest.mark.parametrize("odd", ["null", "7", "{}", '{"prompt_n":-1}', "[]"])
def test_a_clock_that_makes_no_sense_is_none(odd: str) -> None:
    watch = observer()
    event = text("a", more=f',"timings":{odd}')
    assert watch.feed(event) == named(event)
    assert watch.timings is None


def test_a_stream_without_a_clock_has_none() -> None:
    watch = observer()
    watch.feed(text("a"))
    assert watch.timings is None
