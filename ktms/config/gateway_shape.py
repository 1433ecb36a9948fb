"""Plain values against the classes of `gateway_entries.py`: every mistake with its path, not the first alone.

A field that is written with nothing after it counts as left out. What this pass accepts, msgspec converts.
Not here: what values mean to each other (`domain/catalogue_rules.py`), lines and columns (`gateway_file.py`).
"""

import difflib
import types
import typing
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

import msgspec

from ktms.config.gateway_entries import GatewayDocument, SecretSource
from ktms.config.yaml_tree import Path, Value

SECRET_FORM = "{env: NAME}, {file: path} or {value: text}"

NEAR_CUTOFF = 0.6
"""difflib's own default: one letter wrong in three still counts as near."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing wrong with the file. `at_key` points to the field's name instead of its value."""

    path: Path
    message: str
    at_key: bool = False


def shape_document(value: Value) -> GatewayDocument | tuple[Mistake, ...]:
    """Give the typed document, or all mistakes of shape."""
    if value is None:
        return (Mistake((), "the file is empty: the least it needs is `version: 1`"),)
    mistakes: list[Mistake] = []
    cleaned = _shape(value, GatewayDocument, (), mistakes)
    return tuple(mistakes) if mistakes else msgspec.convert(cleaned, GatewayDocument)


def did_you_mean(word: str, options: typing.Iterable[str]) -> str:
    """Suggest the nearest option, in brackets; nothing where none is near."""
    near = difflib.get_close_matches(word, list(options), n=1, cutoff=NEAR_CUTOFF)
    return f" (did you mean '{near[0]}'?)" if near else ""


def _shape(value: Value, shape: object, path: Path, mistakes: list[Mistake]) -> Value:
    """Check one value; give it without the empty fields."""
    bare = _without_notes(shape)
    origin = typing.get_origin(bare)
    if origin in {typing.Union, types.UnionType}:
        inner = next(option for option in typing.get_args(bare) if option is not type(None))
        return _shape(value, inner, path, mistakes)
    if origin is list:
        return _shape_list(value, typing.get_args(bare)[0], path, mistakes)
    if origin is dict:
        return _shape_dict(value, typing.get_args(bare)[1], path, mistakes)
    if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        return _shape_struct(value, bare, path, mistakes)
    message = _leaf_mistake(value, shape, bare)
    if message is not None:
        mistakes.append(Mistake(path, message))
    return value


def _shape_list(value: Value, item: object, path: Path, mistakes: list[Mistake]) -> Value:
    if not isinstance(value, list):
        mistakes.append(Mistake(path, f"expected a list, got {_described(value)}"))
        return value
    return [_shape(each, item, (*path, index), mistakes) for index, each in enumerate(value)]


def _shape_dict(value: Value, item: object, path: Path, mistakes: list[Mistake]) -> Value:
    if not isinstance(value, dict):
        mistakes.append(Mistake(path, f"expected a mapping, got {_described(value)}"))
        return value
    return {key: _shape(each, item, (*path, key), mistakes) for key, each in value.items()}


def _shape_struct(value: Value, struct: type[msgspec.Struct], path: Path, mistakes: list[Mistake]) -> Value:
    if not isinstance(value, dict):
        form = SECRET_FORM if struct is SecretSource else "a mapping"
        mistakes.append(Mistake(path, f"expected {form}, got {_described(value)}"))
        return value
    shapes = typing.get_type_hints(struct, include_extras=True)
    mistakes.extend(
        Mistake((*path, key), f"unknown field{did_you_mean(key, shapes)}", at_key=True)
        for key in value.keys() - shapes.keys()
    )
    given = {key: each for key, each in value.items() if each is not None and key in shapes}
    mistakes.extend(
        Mistake(path, f"field '{field.name}' is missing")
        for field in msgspec.structs.fields(struct)
        if field.required and field.name not in given
    )
    return {key: _shape(each, shapes[key], (*path, key), mistakes) for key, each in given.items()}


def _without_notes(shape: object) -> object:
    """Strip `Annotated`."""
    return typing.get_args(shape)[0] if typing.get_origin(shape) is typing.Annotated else shape


def _leaf_mistake(value: Value, shape: object, bare: object) -> str | None:
    """Say in one sentence why a scalar does not fit, or None."""
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        if isinstance(bare, type) and issubclass(bare, Enum):
            return _enum_mistake(value, [str(option.value) for option in bare])
        if typing.get_origin(bare) is typing.Literal:
            return f"expected {typing.get_args(bare)[0]}, got {value if type(value) is int else _described(value)}"
        return _in_words(str(error), value, bare)
    return None


def _enum_mistake(value: Value, options: list[str]) -> str:
    if not isinstance(value, str):
        return f"expected one of {', '.join(options)}, got {_described(value)}"
    return f"expected one of {', '.join(options)}, got {value[:NEAR_MAX]!r}{did_you_mean(value, options)}"


NEAR_MAX = 60
"""Longer wrong words are cut: a line stays a line."""

_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
    "null": "nothing",
}


NO_NUMBER = 'expected a number, such as "0.15"'


def _in_words(error: str, value: Value, bare: object) -> str:
    """Put msgspec's sentence (it holds types and bounds, never the value) in a reader's words."""
    sentence = error.split(" - at ", maxsplit=1)[0]
    expected, got, _ = sentence.partition(", got ")
    for name, words in _WORDS.items():
        expected = expected.replace(f"`{name}`", words)
    expected = expected[:1].lower() + expected[1:]
    if not got:
        return NO_NUMBER if expected == "invalid decimal string" else expected
    hint = ' (put it in quotes: "…")' if bare is str and isinstance(value, bool | int | Decimal) else ""
    return f"{expected}, got {_described(value)}{hint}"


def _described(value: Value) -> str:
    """Name the kind of a wrong value, not the value: it may be a secret in the wrong place."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return "a number with decimals"
