"""One digest for all ways to write the same body, another one for whatever says something else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.dialects.openai_chat.canonical import LEFT_OUT, canonical_digest, digest_of

NAMES = st.text(max_size=4).filter(lambda name: name not in LEFT_OUT)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12
)
BODIES = st.dictionaries(NAMES, VALUES, max_size=5)


def digest(text: str) -> bytes:
    return canonical_digest(text.encode())


def shuffled(value: Any, draw: st.DataObject) -> Any:
    """Give a value whose objects have their members in another order."""
    if isinstance(value, list):
        return [shuffled(item, draw) for item in value]
    if isinstance(value, dict):
        names = draw.draw(st.permutations(list(value)))
        return {name: shuffled(value[name], draw) for name in names}
    return value


@given(BODIES, st.data(), st.sampled_from([None, 0, 3, "\t"]), st.booleans())
def test_order_white_space_and_escapes_do_not_matter(
    body: dict[str, Any], data: st.DataObject, indent: int | str | None, ascii_only: bool
) -> None:
    again = json.dumps(shuffled(body, data), indent=indent, ensure_ascii=ascii_only)
    assert canonical_digest(again.encode("utf-8", "surrogatepass")) == digest(json.dumps(body))


@given(BODIES, BODIES)
def test_bodies_that_differ_have_other_digests(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (digest(json.dumps(one)) == digest(json.dumps(other))) is same


@given(BODIES, st.data())
def test_any_changed_value_matters(body: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*body, "new"]))
    value = data.draw(VALUES)
    changed = {**body, name: value}
    same = name in body and json.dumps(body[name], sort_keys=True) == json.dumps(value, sort_keys=True)
    assert (digest(json.dumps(changed)) == digest(json.dumps(body))) is same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1e2", "100"),
        ("1", '"1"'),
        ("null", '"null"'),
        ("true", "1"),
        ("[]", "{}"),
        ("[1,2]", "[2,1]"),
        ("[1,2]", "[12]"),
        ('["a","b"]', '["a,b"]'),
        ("[[]]", "[]"),
        ('{"a":{}}', '{"a":null}'),
        (r'"\ud800"', r'"\ud801"'),
        (r'"\ud800"', '"\N{REPLACEMENT CHARACTER}"'),
        ('{"x":1,"x":2}', '{"x":2}'),
        ('{"x":1,"x":2}', '{"x":3,"x":2}'),
        ("123456789012345678901234567890", "123456789012345678901234567891"),
    ],
)
def test_what_a_reader_could_take_for_something_else_is_something_else(one: str, other: str) -> None:
    assert digest(f'{{"v":{one}}}') != digest(f'{{"v":{other}}}')


def test_texts_count_by_what_they_say() -> None:
    assert digest(r'{"v":"\u0061"}') == digest('{"\\u0076":"a"}')


def test_model_and_our_own_field_are_left_out() -> None:
    assert digest('{"model":"a","n":1,"ktms":{"cache":"on"}}') == digest('{"n":1,"model":"b"}')


def test_those_names_count_deeper_down() -> None:
    assert digest('{"v":{"model":"a"}}') != digest('{"v":{"model":"b"}}')


def test_a_body_that_this_parser_refuses_counts_as_it_is_written() -> None:
    odd = b'{"model":"m","v":"\\q"}'
    assert canonical_digest(odd) == canonical_digest(odd)
    assert canonical_digest(odd) != canonical_digest(odd + b" ")


@given(st.lists(st.binary(max_size=3)), st.lists(st.binary(max_size=3)))
def test_where_a_part_ends_counts(one: list[bytes], other: list[bytes]) -> None:
    assert (digest_of(one) == digest_of(other)) is (one == other)
