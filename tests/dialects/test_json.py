"""Spans of top-level members: every byte accounted for, every way to say a name twice refused."""

import json
import re
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.dialects.json import (
    MAX_DEPTH,
    BadJson,
    Members,
    as_json,
    decoded,
    is_empty,
    mended,
    parsed,
    splice,
    top_level,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=6)
FEW_VALUES: st.SearchStrategy[object] = st.sampled_from(
    [1, 12, 1.5, True, None, "", "x", '}"', [], [1], [[]], {}, {"n": 1}, {"model": "}"}]
)
SPELLINGS = st.sampled_from(
    [(None, (",", ":")), (None, (", ", ": ")), (1, None), (3, (" ,", " : ")), (None, (",", ":  "))]
)


def spelled(value: object, spelling: tuple[int | None, tuple[str, str] | None], *, ascii_only: bool) -> bytes:
    indent, separators = spelling
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_only)
    return text.encode("utf-8", "surrogatepass")


def escaped(name: str) -> bytes:
    return b'"' + b"".join(rb"\u%04x" % ord(char) for char in name) + b'"'


@settings(deadline=None)
@given(members=OBJECTS, spelling=SPELLINGS, ascii_only=st.booleans())
def test_each_span_holds_the_value_of_its_name(
    members: dict[str, object], spelling: tuple[int | None, tuple[str, str] | None], ascii_only: bool
) -> None:
    body = b" " + spelled(members, spelling, ascii_only=ascii_only) + b"\n"
    spans = top_level(body)
    assert list(spans) == list(members)
    for name, span in spans.items():
        assert json.loads(body[span.start : span.end]) == members[name]
        assert json.JSONDecoder().raw_decode(body[span.key :].decode())[0] == name


@settings(deadline=None)
@given(members=OBJECTS, spelling=SPELLINGS, ascii_only=st.booleans())
def test_an_answer_is_read_at_the_same_places(
    members: dict[str, object], spelling: tuple[int | None, tuple[str, str] | None], ascii_only: bool
) -> None:
    body = spelled(members, spelling, ascii_only=ascii_only)
    read = Members(body)
    spans = top_level(body)
    for name in members:
        assert name in read
        assert read.span(name) == spans[name]
        assert read.get(name) == body[spans[name].start : spans[name].end]


@settings(deadline=None)
@given(
    members=st.lists(st.tuples(st.sampled_from(["model", "n", 'a"b']), st.booleans(), FEW_VALUES), max_size=6),
    gap=st.sampled_from([b"", b" ", b" \n\t"]),
)
def test_repeated_names_are_refused_and_the_first_of_them_is_found(
    members: list[tuple[str, bool, object]], gap: bytes
) -> None:
    places: dict[str, tuple[int, object]] = {}
    body = b"{"
    for name, as_escapes, value in members:
        body += gap
        places.setdefault(name, (len(body), value))
        spelling = escaped(name) if as_escapes else json.dumps(name).encode()
        body += spelling + gap + b":" + gap + json.dumps(value).encode() + gap + b","
    body = body.removesuffix(b",") + b"}"
    for name, (place, value) in places.items():
        span = Members(body).span(name)
        assert span is not None
        assert span.key == place
        assert json.loads(body[span.start : span.end]) == value
    if len(places) == len(members):
        assert list(top_level(body)) == list(places)
        return
    with pytest.raises(BadJson, match="twice"):
        top_level(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"a","model":"b"}',
        b'{"model":"a","\\u006dodel":"b"}',
        b'{"n":1,"n":12}',
        b'{"n":12,"n":1}',
        b'{"n":1.5,"n":1}',
        b'{"n":1,"n":1}',
        b'{"n":1, "m":2, "n":1}',
        b'{"a":1,"a":[2,"b",{"c":"\\"}"}],"b":3}',
        b'{"a":[[]],"b":0,"a":[[],[]]}',
        # lengths chosen so that a walk by the last value's length would land inside the first one
        b'{"a":"x,\\"b\\":1","b":2,"a":"x"}',
        b'{"a":[1,"b",2],"a":[1]}',
    ],
)
def test_no_spelling_of_a_repeated_name_slips_through(body: bytes) -> None:
    with pytest.raises(BadJson, match="twice"):
        top_level(body)


@pytest.mark.parametrize("first", ["12", "1.5", "1e5", "10 "])
def test_the_first_number_is_found_whole_though_the_last_is_its_beginning(first: str) -> None:
    body = f'{{"model":{first},"model":1}}'.encode()
    span = Members(body).span("model")
    assert span is not None
    assert body[span.start : span.end].decode() == first.strip()


def test_the_first_of_several_is_found_behind_values_of_all_kinds() -> None:
    body = b'{ "a":[1,{"model":2}] ,"b":"}" , "c":true,"d":-1e5 ,"model" : {"x":["]"]} , "a":0,"model":"y"}'
    span = Members(body).span("model")
    assert span is not None
    assert body[span.start : span.end] == b'{"x":["]"]}'


def test_a_repeated_name_gives_its_last_value_as_most_parsers_do() -> None:
    assert Members(b'{"usage":1,"usage":2}').get("usage") == b"2"


def test_an_escaped_name_is_compared_after_unescaping() -> None:
    body = b'{"\\u006dodel":"x"}'
    assert body[top_level(body)["model"].start :] == b'"x"}'


def test_a_name_inside_a_string_or_a_nested_object_is_not_top_level() -> None:
    body = b'{"a\\"model":"x","b":{"model":"y"},"c":"{\\"model\\":1}"}'
    assert list(top_level(body)) == ['a"model', "b", "c"]
    assert Members(body).span("model") is None
    assert Members(body).get("model") is None
    assert "model" not in Members(body)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not valid JSON"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
        (b"{} {}", "not valid JSON"),
        (b'{"a":NaN}', "not valid JSON"),
        (b'{"a":01}', "not valid JSON"),
        (b'{"a":"\\q"}', "not valid JSON"),
        (b'{"a":"\n"}', "not valid JSON"),
        (b'{"a":1,}', "not valid JSON"),
        (b"{'a':1}", "not valid JSON"),
        (b'{"a":"\\ud8","b":"x"}', "not valid JSON"),
        (b'{"a":"\xff"}', "not valid UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "not valid UTF-8"),
        (b"[]", "must be a JSON object"),
        (b'"text"', "must be a JSON object"),
        (b"null", "must be a JSON object"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_reason(body: bytes, says: str) -> None:
    with pytest.raises(BadJson, match=says) as caught:
        top_level(body)
    assert caught.value.message == str(caught.value)


def nested(depth: int, opening: bytes, closing: bytes) -> bytes:
    return b'{"a":' + opening * (depth - 1) + b"1" + closing * (depth - 1) + b"}"


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"b":', b"}")])
def test_nesting_is_taken_to_the_limit_and_refused_above_it(opening: bytes, closing: bytes) -> None:
    assert list(top_level(nested(MAX_DEPTH, opening, closing))) == ["a"]
    with pytest.raises(BadJson, match=f"deeper than {MAX_DEPTH}"):
        top_level(nested(MAX_DEPTH + 1, opening, closing))


def test_nesting_that_no_parser_survives_is_refused_the_same_way() -> None:
    body = nested(100_000, b"[", b"]")
    for read in (top_level, Members):
        with pytest.raises(BadJson, match=f"deeper than {MAX_DEPTH}"):
            read(body)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    for entry in (b"{}", b"[{}]", b'{"b":[{},{},{},{}]}'):
        assert list(top_level(b'{"a":[' + (entry + b",") * 500 + b"1]}")) == ["a"]


@pytest.mark.parametrize("text", ["[" * 200, '\\"' * 3 + "{" * 200, "\\" * 5 + "[{" * 100, '"],[' * 90])
def test_brackets_in_strings_are_not_nesting(text: str) -> None:
    assert list(top_level(json.dumps({"a": text, "b": [[1]]}).encode())) == ["a", "b"]


def test_deep_nesting_behind_strings_with_quotes_is_still_seen() -> None:
    with pytest.raises(BadJson, match="deeper"):
        top_level(b'{"s":"\\"\\\\","a":' + b"[" * 80 + b"]" * 80 + b"}")


def test_an_escaped_backslash_does_not_hide_the_end_of_its_string() -> None:
    deep = b"[" * 70 + b"]" * 70
    with pytest.raises(BadJson, match="deeper"):
        top_level(b'{"s":"\\\\","a":' + deep + b',"t":"\\\\"}')


@given(
    shape=st.lists(st.tuples(st.integers(1, 70), st.integers(1, 70)), max_size=12),
    inside=st.sampled_from([b"", b"{}"]),
)
@settings(deadline=None)
def test_the_deepest_place_decides(shape: list[tuple[int, int]], inside: bytes) -> None:
    text = b"["
    depth = deepest = 2  # the object, and the list in it
    for opened, closed in shape:
        text += b"[" * opened + inside
        depth += opened
        deepest = max(deepest, depth + (inside != b""))
        back = min(closed, depth - 2)
        text += b"]" * back + b","
        depth -= back
    text = re.sub(rb",(?=\])", b"", text + b"1" + b"]" * (depth - 1))
    body = b'{"a":' + text + b"}"
    if deepest <= MAX_DEPTH:
        assert list(top_level(body)) == ["a"]
        return
    with pytest.raises(BadJson, match="deeper"):
        top_level(body)


def test_numbers_keep_their_spelling() -> None:
    body = b'{"seed":18446744073709551615,"t":1.50e0,"big":123456789012345678901234567890,"inf":1e999}'
    spans = top_level(body)
    assert [body[span.start : span.end] for span in spans.values()] == [
        b"18446744073709551615",
        b"1.50e0",
        b"123456789012345678901234567890",
        b"1e999",
    ]


def test_a_lone_surrogate_escape_is_within_the_grammar() -> None:
    body = b'{"a":"\\ud83d","b":"\\\\ud83d \\ud83d\\ude00","model":"x"}'
    span = top_level(body)["model"]
    assert body[span.start : span.end] == b'"x"'
    assert Members(body).span("model") == span


def test_mending_touches_lone_surrogates_only_and_keeps_the_length() -> None:
    text = rb"\ud83d\ude00 \ud83d \ude00 \\ud83d \\\ud83d \n \u0041 \ud83d\u0041"
    assert mended(text) == rb"\ud83d\ude00 \ufffd \ufffd \\ud83d \\\ufffd \n \u0041 \ufffd\u0041"


@pytest.mark.parametrize("decode", [msgspec.json.Decoder(str).decode])
def test_a_value_with_a_lone_surrogate_can_be_decoded(decode: Callable[[bytes], str]) -> None:
    assert decoded(decode, b'"a\\ud83d"') == "a\ufffd"
    assert decoded(decode, b'"a"') == "a"
    with pytest.raises(msgspec.ValidationError):
        decoded(decode, b"1")


def test_a_name_that_is_not_utf8_is_bad_wherever_it_stands() -> None:
    raw = Members(b'{"a":{"b\xff":1}}').get("a")  # the parse of the whole does not look into it
    assert raw is not None
    with pytest.raises(BadJson, match="not valid JSON"):
        decoded(msgspec.json.Decoder(dict[str, int]).decode, raw)


def test_a_value_is_of_another_shape_with_a_lone_surrogate_too() -> None:
    with pytest.raises(msgspec.ValidationError):
        decoded(msgspec.json.Decoder(list[int]).decode, b'["\\ud83d"]')


def test_a_rare_document_is_parsed_whole() -> None:
    assert parsed(b'[{"a":"\\ud83d"}]') == [{"a": "\ufffd"}]


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000])
def test_a_document_that_is_no_json_is_bad(body: bytes) -> None:
    with pytest.raises(BadJson, match="not valid JSON"):
        parsed(body)


@pytest.mark.parametrize(
    ("raw", "empty"),
    [
        (b"null", True),
        (b"false", True),
        (b'""', True),
        (b"[ ]", True),
        (b"{\n}", True),
        (b'" "', False),
        (b"0", False),
        (b"[0]", False),
        (b"true", False),
    ],
)
def test_what_says_nothing_is_empty(raw: bytes, empty: bool) -> None:
    assert is_empty(raw) is empty


def test_splicing_replaces_removes_and_inserts() -> None:
    assert splice(b"abcdef", [(0, 1, b"X"), (2, 3, b""), (6, 6, b"!")]) == b"Xbdef!"
    assert splice(b"abc", []) == b"abc"


def test_our_own_values_are_written_compactly() -> None:
    assert as_json({"a": ["é", None, 1]}) == '{"a":["é",null,1]}'.encode()
