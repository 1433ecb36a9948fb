"""The observer's edits and its shortcut: what is changed on the way, and how seldom a chunk is parsed for it."""

import json

import pytest

from ktms.dialects.openai_chat.chunk import read_chunk
from ktms.dialects.openai_chat.frame import learn
from ktms.dialects.openai_chat.stream import MAX_EVENT_LINE_ENDS, MAX_FRAMES, StreamObserver
from ktms.domain.call import Route

STREAM = "ktms.dialects.openai_chat.stream"
HEAD = '"id":"c-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-2024"'


def chunk(delta: str, *, index: int = 0, more: str = "") -> bytes:
    choice = f'{{"index":{index},"delta":{delta},"finish_reason":null}}'
    return f'data: {{{HEAD},"choices":[{choice}]{more}}}\n\n'.encode()


def text(content: str, *, more: str = "") -> bytes:
    return chunk(json.dumps({"content": content}), more=more)


def usage(prompt: int, completion: int) -> str:
    total = prompt + completion
    return f'"usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total}}}'


def observer() -> StreamObserver:
    return StreamObserver("public", route=Route.CHAT, usage_asked=False)


def named(event: bytes) -> bytes:
    return event.replace(b"gpt-4o-2024", b"public")


def test_cumulative_usage_is_not_read_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[bytes] = []
    monkeypatch.setattr(f"{STREAM}.read_usage", reads.append)
    watch = observer()
    for count in range(50):
        watch.feed(text("a", more=f",{usage(7, count)}"))
    assert reads == []
    assert watch.usage is None
    assert reads == [usage(7, 49).removeprefix('"usage":').encode()]


@pytest.mark.parametrize(
    "events",
    [
        [text("word" * (count % 9)) for count in range(100)],
        [text('say "hi"\\\n' * (count % 4)) for count in range(100)],
        [text("a", more=f',"usage":null,"obfuscation":"{"x" * count}"') for count in range(100)],
        [text("a", more=f",{usage(1, count)}") for count in range(100)],
        [text("a", more=f',"usage":{{"a":{count},"b":{{"c":{count}}}}}') for count in range(100)],
        [chunk(f'{{"reasoning_content":"{count}"}}') for count in range(50)]
        + [text(str(count)) for count in range(50)],
        [chunk(f'{{"content":"","reasoning":"{count}"}}') for count in range(100)],
        [chunk(f'{{"tool_calls":[{{"index":0,"function":{{"arguments":"{count}"}}}}]}}') for count in range(100)],
        [chunk(f'{{"content":"{count}"}}', index=count % 4) for count in range(100)],
        [text(str(count)).replace(b"\n\n", b"\r\n\r\n") for count in range(100)],
        [
            b'data: {"choices":[{"delta":{"content":"%d"}}],"model":"gpt-4o-2024","object":"x"}\n\n' % count
            for count in range(100)
        ],
        [f'data:{{"choices" : [{{"delta" : {{"content" : "{count}"}}}}]}}\n\n'.encode() for count in range(100)],
    ],
)
def test_the_common_path_parses_no_chunk_twice_in_kind(
    events: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = []

    def counted(payload: bytes, *, legacy: bool) -> object:
        parsed.append(payload)
        return read_chunk(payload, legacy=legacy)

    monkeypatch.setattr(f"{STREAM}.read_chunk", counted)
    watch = observer()
    assert b"".join(watch.feed(event) for event in events) == named(b"".join(events))
    assert len(parsed) <= MAX_FRAMES + 1


def test_shapes_that_never_repeat_cost_no_more_than_a_few_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    lessons = []

    def counted(event: bytes, at: int, *rest: object, **named: object) -> object:
        lessons.append(event)
        return learn(event, at, *rest, **named)  # type: ignore[arg-type] # handed through

    monkeypatch.setattr(f"{STREAM}.learn", counted)
    watch = observer()
    for count in range(200):
        watch.feed(text("a").replace(b"c-1", b"c-%d" % count))
    assert len(lessons) == MAX_FRAMES
    assert watch.visible_events == 200


def test_a_shape_that_changes_now_and_then_is_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def counted(payload: bytes, *, legacy: bool) -> object:
        parsed.append(payload)
        return read_chunk(payload, legacy=legacy)

    monkeypatch.setattr(f"{STREAM}.read_chunk", counted)
    watch = observer()
    for count in range(1000):  # an engine that writes the second into each chunk
        watch.feed(text("a").replace(b'"created":1', b'"created":%d' % (count // 50)))
    assert len(parsed) == 20


@pytest.mark.parametrize(
    "value",
    ['"gpt-4o-2024"', '""', "null", '"/models/x.gguf"', '"a\\"b"', '{"model":"x","content":"y"}', "7", "[1]"],
)
def test_any_value_of_the_model_member_is_replaced(value: str) -> None:
    watch = observer()
    for spelling in (f'"model":{value}', f'"model" : {value} ', f'"mo\\u0064el":{value}'):
        event = f'data: {{"id":"1",{spelling},"choices":[{{"delta":{{"content":"a"}}}}]}}\n\n'
        name = spelling.split(":")[0]
        blank = " " if spelling.endswith(" ") else ""
        want = f'data: {{"id":"1",{name}:{blank}"public"{blank},"choices":[{{"delta":{{"content":"a"}}}}]}}\n\n'
        assert watch.feed(event.encode()) == want.encode()
        assert watch.feed(event.encode()) == want.encode()


def test_a_nested_model_member_is_not_ours_and_none_is_added() -> None:
    watch = observer()
    for event in (
        b'data: {"choices":[{"delta":{"content":"\\"model\\":\\"gpt-4o-2024\\""}}]}\n\n',
        b'data: {"x":{"model":"gpt-4o-2024"},"choices":[{"delta":{"content":"a","model":"gpt-4o-2024"}}]}\n\n',
        b'data: {"a\\"model":"gpt-4o-2024","choices":[{"delta":{"content":"a"}}]}\n\n',
    ):
        assert watch.feed(event) == event
        assert watch.feed(event) == event


def test_only_the_first_of_two_model_members_is_replaced() -> None:
    event = b'data: {"model":"a","choices":[{"delta":{"content":"x"}}],"model":"b"}\n\n'
    assert observer().feed(event) == event.replace(b'"a"', b'"public"')


def test_the_model_may_change_its_spelling_in_the_middle() -> None:
    watch = observer()
    events = [
        text("a"),
        text("b").replace(b"gpt-4o-2024", b""),
        text("c").replace(b'"model":', b'"model" : '),
        text("d"),
    ]
    want = named(events[0]) + text("b").replace(b"gpt-4o-2024", b"public")
    want += named(events[2]) + named(events[3])
    assert b"".join(watch.feed(event) for event in events) == want
    assert watch.feed(b"".join(events)) == want


def test_p06_comments_ids_and_retries_are_not_forwarded() -> None:
    watch = observer()
    assert watch.feed(b": OPENROUTER PROCESSING\n\n" * 3) == b""
    assert not watch.visible
    assert (
        watch.feed(b"id: 9\nretry: 10\n: x\nevent: m\nfoo: 1\ndata: {}\n\n") == b"event: m\nfoo: 1\ndata: {}\n\n"
    )
    assert watch.feed(b"id: 9\n\nevent: ping\n\nretry: 5\n\ndata:\n\ndata:  \n\n") == b""
    assert not watch.malformed


def test_lines_keep_their_ends_and_their_spacing() -> None:
    watch = observer()
    stream = b'id: 1\r\nevent:m\r\ndata:{"model":"x"}\r\n\r\ndata:  {"model" :"x"}\r\rdata: {"model":"x"}\n\r\n'
    want = (
        b'event:m\r\ndata:{"model":"public"}\r\n\r\ndata:  {"model" :"public"}\r\rdata: {"model":"public"}\n\r\n'
    )
    assert watch.feed(stream) == want


def test_an_event_of_several_data_lines_is_edited_in_its_line() -> None:
    watch = observer()
    stream = b'data: {"a":1,\ndata:"model":"x",\nevent: m\ndata\ndata:  "b":2}\n\n'
    assert watch.feed(stream) == stream.replace(b'"x"', b'"public"')
    assert not watch.malformed


def test_a_model_that_spans_lines_is_replaced_too() -> None:
    stream = b'data: {"a":1,"model":[\ndata:1\nevent: m\ndata:],\ndata\ndata:"b":2}\n\n'
    assert observer().feed(stream) == b'data: {"a":1,"model":"public",\ndata: \nevent: m\ndata: "b":2}\n\n'


def test_comments_and_bare_fields_are_dropped_without_being_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def split(block: bytes) -> list[bytes]:
        raise AssertionError(block)

    monkeypatch.setattr(f"{STREAM}.split_events", split)
    assert observer().feed(b": ping\n\n" * 9 + b"id: 1\nretry: 5\n\nevent: message\n\n") == b""


def test_an_event_has_so_many_lines_and_not_one_more() -> None:
    most = b"data:\n" * (MAX_EVENT_LINE_ENDS - 2) + b"data: [DONE]\n"
    watch = observer()
    watch.feed(most + b"\n")
    assert (watch.done, watch.too_large) == (True, False)
    watch = observer()
    assert watch.feed(b"data:\n" + most + b"\n") == b""
    assert (watch.done, watch.too_large) == (False, True)
