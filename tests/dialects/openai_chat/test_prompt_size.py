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


def test_images_are_counted_and_are_no_text() -> None:
    parts = [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": URI * 1000}},
        {"type": "input_image", "image_url": "https://x/y.png"},
        {"type": "input_audio", "input_audio": {"data": "AAAA"}},
        {"type": "text", "text": None},
        {},
    ]
    assert messages(parts, "ab") == PromptSize(7, 7, 2)


def test_data_uris_inside_text_are_no_text() -> None:
    assert messages(f"see ![x]({URI}) and {URI}").text_bytes == len("see ![x]() and ")
    assert messages("data:text/plain,abc ;base64, x").text_bytes == len("data:text/plain,abc ;base64, x")


def test_a_data_uri_with_escaped_slashes_counts_nothing() -> None:
    raw = json.dumps([{"content": URI}]).replace("/", "\\/").encode()
    assert size_of_messages(raw) == PromptSize(0, 0, 0)


def test_null_content_counts_nothing_and_tool_calls_their_length() -> None:
    raw = b'[{"content":null,"tool_calls":[{"a":1}]},{"role":"tool","content":"xy"},{}]'
    assert size_of_messages(raw).text_bytes == len('[{"a":1}]') + 2


def test_a_lone_surrogate_counts_as_the_character_put_for_it() -> None:
    assert size_of_messages(b'[{"content":"a\\ud83d"}]').text_bytes == 4
    assert size_of_input(b'["\\ud83d"]').text_bytes == 3


@pytest.mark.parametrize("raw", [b"7", b'"text"', b'[7,"a"]', b'{"a":"b"}'])
def test_messages_of_another_shape_count_their_length(raw: bytes) -> None:
    assert size_of_messages(raw) == PromptSize(len(raw), len(raw), 0)


def test_content_of_another_shape_counts_its_length_or_nothing() -> None:
    assert messages([7]).text_bytes == len("[7]")
    assert messages({"a": 1}).text_bytes == 0


@pytest.mark.parametrize(
    ("value", "size", "longest"),
    [
        ("hällo", 6, 6),
        (["ab", "cde"], 5, 3),
        ([], 0, 0),
        ([1, 2, 3], 3 * BYTES_PER_TOKEN, 3 * BYTES_PER_TOKEN),
        ([[1, 2], [3], []], 3 * BYTES_PER_TOKEN + 2, 2 * BYTES_PER_TOKEN),
        (["ab", [1], {"x": 1}], 2 + BYTES_PER_TOKEN + len('{"x": 1}'), len('{"x": 1}')),
        (7, 1, 1),
    ],
)
def test_inputs_are_texts_token_numbers_or_lists_of_them(value: object, size: int, longest: int) -> None:
    assert size_of_input(json.dumps(value).encode()) == PromptSize(size, longest, 0)
