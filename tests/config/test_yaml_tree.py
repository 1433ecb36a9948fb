from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ktms.config.yaml_tree import DEPTH_MAX, Position, YamlInvalid, read_tree


def mistake(text: str) -> str:
    with pytest.raises(YamlInvalid) as invalid:
        read_tree(text)
    return str(invalid.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", {"a": "no"}),
        ("a: 2027-01-01", {"a": "2027-01-01"}),
        ("a: true", {"a": True}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: 07", {"a": 7}),
        ("a: 0x10", {"a": "0x10"}),
        ("a: 1e3", {"a": Decimal(1000)}),
        ("a: .5", {"a": Decimal("0.5")}),
        ("a: .inf", {"a": Decimal("Infinity")}),
        ("a: .nan", {"a": ".nan"}),
        ("a: '1'", {"a": "1"}),
        ('a: ""', {"a": ""}),
        ("a: |\n  x\n", {"a": "x\n"}),
        ("[1, {b: c}]", [1, {"b": "c"}]),
        ("", None),
        ("# nothing\n", None),
        ("a: " + "9" * 5000, {"a": "9" * 5000}),
    ],
)
def test_values_are_those_of_the_core_schema(text: str, value: object) -> None:
    assert read_tree(text).value == value


def test_a_decimal_keeps_every_digit() -> None:
    assert read_tree("a: 0.1000000000000000000000001").value == {"a": Decimal("0.1000000000000000000000001")}


def test_every_value_has_its_line_and_column() -> None:
    tree = read_tree("models:\n  - name: a\n    targets: [{vendor: b}]\n")
    assert tree.values["models", 0, "targets", 0, "vendor"] == Position(3, 24)
    assert tree.keys["models", 0, "targets"] == Position(3, 5)


def test_a_path_that_is_not_there_is_placed_at_what_surrounds_it() -> None:
    tree = read_tree("a:\n  - b: 1\n")
    assert tree.position(("a", 0, "gone", 3)) == Position(2, 5)


def test_an_empty_document_begins_at_its_beginning() -> None:
    assert read_tree("").position(("a",)) == Position(1, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2\n", "2:1: 'a' stands here twice (first in line 1)"),
        ("a: [1, 2", "1:9: "),
        ("a: b: c", "1:5: not valid YAML: mapping values are not allowed here"),
        ("a:\n  - b: 1\n   c: 2\n", "3:4: not valid YAML: expected <block end>"),
        ("a: 1\n---\nb: 2\n", "2:1: a second document: one file, one document"),
        ("a: !!python/object:os.system 1", "1:4: tags such as"),
        ("a: !!str 1", "1:4: tags such as"),
        ("x: &x {a: 1}\ny:\n  <<: *x\n", "3:3: merge keys"),
        ("? [1]\n: 2\n", "1:3: a key must be plain text"),
        ("a: *gone", "1:4: *gone is not defined above"),
        ("a: &a [*a]", "1:8: *a stands inside itself"),
        ("\x00", "1:1: not valid YAML"),
        (
            "a:\n\tb: 1\n",
            "2:1: not valid YAML: found character '\\t' that cannot start any token (indent with spaces)",
        ),
        ("a: %x", "1:4: "),
        ("\ta: 1", "1:1: "),
    ],
)
def test_a_mistake_is_placed(text: str, said: str) -> None:
    assert mistake(text).startswith(said)


def test_an_alias_repeats_a_value_and_points_to_its_use() -> None:
    tree = read_tree("a: &t {b: 1}\nc: *t\n")
    assert tree.value == {"a": {"b": 1}, "c": {"b": 1}}
    assert tree.position(("c", "b")) == Position(2, 4)


def test_a_bomb_of_aliases_ends_early() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "more than 500000 values" in mistake("\n".join(lines))


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "".join(f"{' ' * n}a:\n" for n in range(500))])
def test_deep_nesting_ends_early(text: str) -> None:
    assert f"nested deeper than {DEPTH_MAX} levels" in mistake(text)


@given(some.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        place = read_tree(text).position(())
    except YamlInvalid as invalid:
        place = invalid.position
    assert place.line >= 1
