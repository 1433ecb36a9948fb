"""Bytes of text: what counts, what does not, and what odd shapes count."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.dialects.openai_chat.prompt_size import BYTES_PER_TOKEN, PromptSize, size_of_input, size_of_messages

URI = "data:image/png;base64,AAAA/BBB+CC=="


def messages(*contents: object) -> PromptSize:
    return size_of_messages(json.dumps([{"role": "user", "content": content} for content in contents]).encode())


@settings(deadline=None)
@given(texts=st.lists(st.text(), max_size=5), ascii_only=st.booleans())
def test_text_counts_its_utf8_bytes_however_it_is_spelled(texts: list[str], ascii_only: bool) -> None:
    raw = json.dumps([{"content": text} for text in texts], ensure_ascii=ascii_only).encode(
        "utf-8", "surrogatepass"
    )
    want = sum(len(text.encode()) for text in texts)
    assert size_of_messages(raw) == PromptSize(want, want, 0)


def test_parts_that_are_no_text_are_counted_as_images() -> None:
    parts = [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": URI * 1000}},
        {"type": "input_image", "image_url": "https://x/y.png"},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
        {"type": "text", "text": None},
        {},
    ]
    assert messages(parts, "ab") == PromptSize(7, 7, 3)


def test_data_uris_inside_text_are_text_and_need_no_window() -> None:
    text = f"see ![x]({URI}) and {URI}"
    assert messages(text) == PromptSize(len(text), len("see ![x]() and "), 0)
    assert messages([{"type": "text", "text": text}]) == messages(text)
    assert size_of_input(json.dumps([text]).encode()) == messages(text)
    text = "data:text/plain,abc ;base64, x"
    assert messages(text) == PromptSize(len(text), len(text), 0)


def test_a_data_uri_with_escaped_slashes_needs_no_window() -> None:
    raw = json.dumps([{"content": URI}]).replace("/", "\\/").encode()
    assert size_of_messages(raw) == PromptSize(len(URI), 0, 0)


def test_null_content_counts_nothing_and_tool_calls_their_length() -> None:
    raw = b'[{"content":null,"tool_calls":[{"a":1}]},{"role":"tool","content":"xy"},{}]'
    assert size_of_messages(raw).text_bytes == len('[{"a":1}]') + 2


@pytest.mark.parametrize("name", ["tool_calls", "function_call", "reasoning_content", "reasoning", "refusal"])
def test_what_a_message_holds_beside_its_content_is_read_too(name: str) -> None:
    assert size_of_messages(json.dumps([{"content": "ab", name: "cde"}]).encode()).text_bytes == 2 + len('"cde"')
    assert size_of_messages(json.dumps([{"content": "ab", name: None}]).encode()).text_bytes == 2


@pytest.mark.parametrize(
    ("kind", "name"), [("refusal", "refusal"), ("thinking", "thinking"), ("tool_result", "content")]
)
def test_parts_that_hold_text_under_another_name_count_its_length(kind: str, name: str) -> None:
    assert messages([{"type": kind, name: "abc"}]) == PromptSize(len('"abc"'), len('"abc"'), 0)


def test_a_lone_surrogate_counts_as_the_character_put_for_it() -> None:
    assert size_of_messages(b'[{"content":"a\\ud83d"}]').text_bytes == 4
    assert size_of_input(b'["\\ud83d"]').text_bytes == 3


@pytest.mark.parametrize("raw", [b"7", b'"text"', b'[7,"a"]', b'{"a":"b"}'])
def test_messages_of_another_shape_count_their_length(raw: bytes) -> None:
    assert size_of_messages(raw) == PromptSize(len(raw), len(raw), 0)


def test_content_of_another_shape_counts_its_length() -> None:
    assert messages([7]).text_bytes == len("[7]")
    assert messages({"a": 1}).text_bytes == len('{"a": 1}')


@pytest.mark.parametrize(
    ("value", "size", "longest", "prompts"),
    [
        ("hällo", 6, 6, 1),
        (["ab", "cde"], 5, 3, 2),
        ([], 0, 0, 0),
        ([1, 2, 3], 3 * BYTES_PER_TOKEN, 3 * BYTES_PER_TOKEN, 1),
        ([[1, 2], [3], []], 3 * BYTES_PER_TOKEN + 2, 2 * BYTES_PER_TOKEN, 3),
        (["ab", [1], {"x": 1}], 2 + BYTES_PER_TOKEN + len('{"x": 1}'), len('{"x": 1}'), 3),
        (7, 1, 1, 1),
    ],
)
def test_inputs_are_texts_token_numbers_or_lists_of_them(
    value: object, size: int, longest: int, prompts: int
) -> None:
    assert size_of_input(json.dumps(value).encode()) == PromptSize(size, longest, 0, prompts)
