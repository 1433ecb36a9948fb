"""The observer, case by case; against a slow reader that parses every event see `test_stream_random.py`."""

import json

import pytest

from ktms.dialects.openai_chat.stream import DONE, StreamObserver
from ktms.domain.call import Route
from ktms.domain.conversation.usage import Usage

HEAD = '"id":"c-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-2024"'


def chunk(delta: str, *, finish: str = "null", index: int = 0, more: str = "") -> bytes:
    choice = f'{{"index":{index},"delta":{delta},"finish_reason":{finish}}}'
    return f'data: {{{HEAD},"choices":[{choice}]{more}}}\n\n'.encode()


def text(content: str, **how: str) -> bytes:
    return chunk(json.dumps({"content": content}), **how)  # type: ignore[arg-type] # only texts are passed on


def usage(prompt: int, completion: int) -> str:
    total = prompt + completion
    return f'"usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total}}}'


FINISH = chunk("{}", finish='"stop"')
USAGE = f'data: {{{HEAD},"choices":[],{usage(9, 1)}}}\n\n'.encode()


def observer(
    *, asked: bool = False, answers: int = 1, route: Route = Route.CHAT, cap: int = 1 << 20
) -> StreamObserver:
    return StreamObserver("public", route=route, usage_asked=asked, answers=answers, max_event_bytes=cap)


def named(event: bytes) -> bytes:
    return event.replace(b"gpt-4o-2024", b"public")


def test_a_whole_stream_comes_through_with_the_public_name() -> None:
    watch = observer()
    out = [
        watch.feed(event) for event in (chunk('{"role":"assistant","content":""}'), text("a"), FINISH, USAGE, DONE)
    ]
    assert b"".join(out) == named(chunk('{"role":"assistant","content":""}') + text("a") + FINISH)
    assert watch.end() == b""
    assert (watch.done, watch.finished, watch.visible) == (True, True, True)
    assert watch.usage == Usage(prompt_tokens=9, completion_tokens=1)


def test_p12_a_usage_chunk_with_empty_choices_is_forwarded_to_who_asked() -> None:
    watch = observer(asked=True)
    assert watch.feed(text("a") + FINISH + USAGE + DONE) == named(text("a") + FINISH + USAGE)
    assert watch.usage == Usage(prompt_tokens=9, completion_tokens=1)


@pytest.mark.parametrize("choices", ['"choices":[],', '"choices":null,', ""])
def test_a_usage_chunk_nobody_asked_for_is_dropped_and_counted(choices: str) -> None:
    watch = observer()
    assert watch.feed(f"data: {{{HEAD},{choices}{usage(9, 1)}}}\n\n".encode()) == b""
    assert watch.usage == Usage(prompt_tokens=9, completion_tokens=1)


def test_an_empty_chunk_without_usage_is_forwarded() -> None:
    event = f'data: {{{HEAD},"choices":[],"prompt_filter_results":[],"usage":null}}\n\n'.encode()
    assert observer().feed(event) == named(event)


def test_p13_usage_on_a_content_chunk_counts_and_the_chunk_goes_out() -> None:
    watch = observer()
    details = (
        ',"usage":{"prompt_tokens":1000,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":900}}'
    )
    assert watch.feed(text("a", more=details)) == named(text("a", more=details))
    assert watch.usage == Usage(prompt_tokens=1000, completion_tokens=12, cached_tokens=900)


def test_p13_cumulative_usage_is_replaced_never_summed() -> None:
    watch = observer()
    for count in range(1, 50):
        watch.feed(text("a", more=f",{usage(7, count)}"))
    assert watch.usage == Usage(prompt_tokens=7, completion_tokens=49)


def test_an_empty_usage_does_not_wipe_out_the_one_before() -> None:
    watch = observer()
    watch.feed(USAGE + text("a", more=',"usage":{}'))
    assert watch.usage == Usage(prompt_tokens=9, completion_tokens=1)


@pytest.mark.parametrize(
    "delta",
    [
        '{"content":"a"}',
        '{"reasoning_content":"a"}',
        '{"reasoning":"a"}',
        '{"refusal":"a"}',
        '{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":""}}]}',
        '{"function_call":{"name":"f"}}',
        '{"audio":{"id":"x"}}',
        '{"role":"assistant","unheard_of":"x"}',
        '{"content":"\\\\"}',
    ],
)
def test_any_filled_delta_member_but_role_is_visible(delta: str) -> None:
    watch = observer()
    watch.feed(chunk(delta))
    assert watch.visible
    assert watch.visible_events == 1


@pytest.mark.parametrize(
    "delta", ['{"role":"assistant"}', '{"content":null}', '{"content":""}', '{"tool_calls":[]}', "{}", "null", "7"]
)
def test_empty_deltas_are_not_visible(delta: str) -> None:
    watch = observer()
    event = chunk(delta)
    assert watch.feed(event) == named(event)
    assert not watch.visible


@pytest.mark.parametrize("odd", ['"choices":7', '"choices":[7]', '"choices":{}', '"choices":[[]]'])
def test_choices_of_an_odd_shape_are_passed_on_unseen(odd: str) -> None:
    watch = observer()
    event = f"data: {{{odd}}}\n\n".encode()
    assert watch.feed(event) == event
    assert (watch.visible, watch.malformed, watch.finished) == (False, False, False)


def test_empty_text_after_a_learned_shape_is_not_visible() -> None:
    watch = observer()
    watch.feed(text("a") + text("") + text("b"))
    assert watch.visible_events == 2


def test_a_finish_reason_is_visible_and_an_empty_one_is_none() -> None:
    watch = observer()
    watch.feed(chunk("{}", finish='""'))
    assert (watch.visible, watch.finished) == (False, False)
    watch.feed(FINISH)
    assert (watch.visible, watch.finished) == (True, True)


def test_all_answers_asked_for_must_finish() -> None:
    watch = observer(answers=2)
    watch.feed(FINISH)
    assert not watch.finished
    watch.feed(chunk("{}", finish='"length"', index=1))
    assert watch.finished


def test_a_choice_that_was_begun_must_finish() -> None:
    watch = observer()
    watch.feed(text("a") + chunk('{"content":"b"}', index=1) + FINISH)
    assert not watch.finished
    watch.feed(chunk("{}", finish='"stop"', index=1))
    assert watch.finished


def test_an_odd_index_is_the_first_choice() -> None:
    watch = observer()
    watch.feed(text("a") + FINISH.replace(b'"index":0', b'"index":"0"'))
    assert watch.finished


def test_p15_legacy_completions_show_text_and_usage() -> None:
    watch = observer(route=Route.COMPLETIONS, asked=True)
    head = '"id":"1","object":"text_completion","model":"gpt-4o-2024"'
    first = f'data: {{{head},"choices":[{{"index":0,"text":"hi","finish_reason":null}}]}}\n\n'.encode()
    last = (
        f'data: {{{head},"choices":[{{"index":0,"text":"","finish_reason":"stop"}}],{usage(2, 3)}}}\n\n'.encode()
    )
    assert watch.feed(first + first + last + DONE) == named(first + first + last)
    assert (watch.visible, watch.finished, watch.visible_events, watch.content_bytes) == (True, True, 3, 4)
    assert watch.usage == Usage(prompt_tokens=2, completion_tokens=3)


def test_empty_legacy_text_is_not_visible() -> None:
    watch = observer(route=Route.COMPLETIONS)
    watch.feed(b'data: {"choices":[{"text":""}]}\n\n')
    assert not watch.visible


def test_content_is_measured_in_bytes_of_text() -> None:
    watch = observer()
    for _ in range(2):
        watch.feed(text("ab\n"))
        watch.feed(chunk('{"content":"é🙂"}'))
        watch.feed(chunk('{"tool_calls":[{"function":{"name":"long_name","arguments":"{\\"a\\":1}"}}]}'))
    assert watch.content_bytes == 2 * (3 + 6 + 7)


def test_p07_an_end_mark_without_blank_line_is_taken_at_the_end() -> None:
    watch = observer()
    assert watch.feed(text("a") + FINISH + b"data: [DONE]") == named(text("a") + FINISH)
    assert not watch.done
    assert watch.end() == b""
    assert watch.done


def test_p07_a_last_event_without_blank_line_is_completed() -> None:
    watch = observer()
    watch.feed(text("a"))
    assert watch.feed(FINISH.rstrip(b"\n")) == b""
    assert watch.end() == named(FINISH)
    assert (watch.done, watch.finished) == (False, True)


def test_nothing_comes_out_after_the_end_mark() -> None:
    watch = observer()
    assert watch.feed(text("a") + b"data:[DONE]\n\n" + text("b")) == named(text("a"))
    assert watch.feed(text("c")) == b""
    assert watch.end() == b""


def test_p09_a_chunk_cut_in_the_middle_is_garbage_at_the_end() -> None:
    watch = observer()
    watch.feed(text("a"))
    assert watch.feed(text("b")[:40]) == b""
    assert watch.end() == b""
    assert (watch.malformed, watch.finished) == (True, False)


@pytest.mark.parametrize(
    "payload",
    [
        b"hello",
        b'{"choices":',
        b"[]",
        b"7",
        b'{"choices":[{"delta":{"content":"\x01"}}]}',
        b'{"choices":[{"delta":{"c\xff":"b"}}]}',
    ],
)
def test_what_should_be_a_json_object_and_is_not_ends_the_stream(payload: bytes) -> None:
    watch = observer()
    assert watch.feed(text("a") + b"data: " + payload + b"\n\n" + text("b")) == named(text("a"))
    assert watch.malformed
    assert watch.feed(text("c")) == b""


def test_a_control_character_does_not_fit_a_learned_shape() -> None:
    watch = observer()
    watch.feed(text("a"))
    assert watch.feed(text("X").replace(b"X", b"\x01")) == b""
    assert watch.malformed


def test_a_lone_surrogate_escape_passes_unchanged() -> None:
    event = text("a").replace(b'"a"', b'"\\ud83d"')
    assert observer().feed(event) == named(event)


@pytest.mark.parametrize(
    ("code", "status", "shown"),
    [
        ("400", 400, None),
        ("429", 429, None),
        ("503", 503, None),
        ('"rate_limit_exceeded"', 429, "rate_limit_exceeded"),
    ],
)
def test_p33_an_error_object_is_noted_and_not_forwarded(code: str, status: int, shown: str | None) -> None:
    watch = observer()
    event = f'data: {{"error":{{"message":"too long","type":"invalid_request_error","code":{code}}}}}\n\n'.encode()
    assert watch.feed(event + DONE) == b""
    assert watch.error is not None
    assert (watch.error.status, watch.error.code, watch.error.message) == (status, shown, "too long")
    assert (watch.visible, watch.done) == (False, False)


def test_an_error_after_content_lets_the_content_out_first() -> None:
    watch = observer()
    assert watch.feed(
        text("a") + b'data: {"error":"overloaded","error_type":"overloaded"}\n\n' + text("b")
    ) == named(text("a"))
    assert watch.error is not None
    assert watch.error.status == 429
    assert watch.feed(text("c")) == b""


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (b'event: error\ndata: {"error":{"message":"boom"}}\n\n', "boom"),
        (b'event: error\ndata: {"message":"boom"}\n\n', "boom"),
        (b"event: error\ndata: boom\n\n", "boom"),
        (b"event: error\n\n", "the upstream gave no message"),
        (b'error: {"code":500,"message":"boom","type":"server_error"}\n\n', "boom"),
        (b'data: {"object":"error","message":"boom","code":400}\n\n', "boom"),
    ],
)
def test_an_error_event_is_an_error_whatever_its_data(event: bytes, message: str) -> None:
    watch = observer()
    assert watch.feed(event) == b""
    assert watch.error is not None
    assert watch.error.message == message


@pytest.mark.parametrize("empty", ["null", "{}", '""', "false"])
def test_an_empty_error_member_is_no_error(empty: str) -> None:
    watch = observer()
    event = text("a", more=f',"error":{empty}')
    assert watch.feed(event) == named(event)
    assert watch.error is None


def test_an_event_above_the_cap_ends_the_stream() -> None:
    watch = observer(cap=100)
    assert watch.feed(b"data: " + b"x" * 200) == b""
    assert watch.too_large
    assert watch.feed(b"\n\n") == b""
    assert watch.end() == b""


def test_p04_an_event_cut_in_a_string_is_one_event() -> None:
    watch = observer()
    event = text("hello")
    assert watch.feed(event[:-20]) == b""
    assert watch.feed(event[-20:]) == named(event)
