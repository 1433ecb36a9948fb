"""One chunk by a real parse."""

import pytest

from ktms.dialects.json import BadJson, Span
from ktms.dialects.openai_chat.chunk import read_chunk, string_bytes


def test_a_chunk_tells_all_it_holds() -> None:
    choices = b'[{"index":1,"delta":{"content":"ab"}},{"index":0,"finish_reason":"stop"}]'
    payload = b'{"model":"m","choices":%b,"usage":{"a":1}}' % choices
    chunk = read_chunk(payload, legacy=False)
    assert chunk.model == Span(1, 9, 12)
    assert (chunk.visible, chunk.text_bytes) == (True, 2)
    assert (chunk.indexes, chunk.finished) == ((1, 0), (0,))
    assert (chunk.usage, chunk.error, chunk.only_usage) == (b'{"a":1}', None, False)


@pytest.mark.parametrize(
    ("payload", "only"),
    [
        (b'{"usage":{"a":1}}', True),
        (b'{"choices":[],"usage":{"a":1}}', True),
        (b'{"choices":[{}],"usage":{"a":1}}', False),
        (b'{"choices":[],"usage":{}}', False),
        (b'{"choices":[],"usage":null}', False),
        (b'{"choices":[],"usage":7}', False),
        (b"{}", False),
    ],
)
def test_a_chunk_of_usage_alone_is_told_apart(payload: bytes, only: bool) -> None:
    assert read_chunk(payload, legacy=False).only_usage is only


@pytest.mark.parametrize(
    ("index", "read"), [(b"3", 3), (b'"3"', 0), (b"-1", 0), (b"1.5", 0), (b"9" * 5000, 0), (b"null", 0)]
)
def test_an_odd_index_is_zero(index: bytes, read: int) -> None:
    assert read_chunk(b'{"choices":[{"index":%b}]}' % index, legacy=False).indexes == (read,)


def test_texts_inside_a_delta_are_measured_other_strings_are_not() -> None:
    payload = b'{"choices":[{"delta":{"tool_calls":[{"id":"call_1","function":{"name":"f","arguments":"{}"}}]}}]}'
    assert read_chunk(payload, legacy=False).text_bytes == 2


@pytest.mark.parametrize("payload", [b"", b"[]", b"7", b'{"a"'])
def test_what_is_no_object_is_bad(payload: bytes) -> None:
    with pytest.raises(BadJson):
        read_chunk(payload, legacy=False)


@pytest.mark.parametrize(
    ("raw", "size"),
    [
        (b"", 0),
        (b"ab", 2),
        ("é한".encode(), 5),
        (rb"\n", 1),
        (rb"\u4e2d", 3),
        (rb"\\", 1),
        (rb"\\\n", 2),
        (rb"\\u" * 3, 1),
    ],
)
def test_the_size_of_a_string_is_about_its_utf8_size_and_nothing_only_for_none(raw: bytes, size: int) -> None:
    assert string_bytes(raw) == size
