"""YAML text -> plain values, each with its place (line and column), for errors that point.

Stricter than YAML on purpose: one document, string keys, no duplicate keys, no tags, no merge keys; scalars by
the core schema of YAML 1.2 (`no` and `2027-01-01` are text). Numbers with decimals become exact `Decimal`s. Built
from the parser's events with our own limits: aliases may repeat values, but a bomb of them ends at VALUES_MAX.
Not here: what the values mean (`gateway_file.py`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

DEPTH_MAX = 32
"""The deepest path of the file format has 7 steps; the parser's caller recurses once per level."""

VALUES_MAX = 500_000
"""About ten per node of the largest fleet planned for, five times over; aliases count each time they are used."""

NUMBER_MAX_CHARS = 40
"""Longer digits are no number anybody means (and converting very long ones is slow): they stay text."""

Value = None | bool | int | Decimal | str | list["Value"] | dict[str, "Value"]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """Line and column, counted from 1."""

    line: int
    column: int


START = Position(1, 1)


@dataclass(frozen=True, slots=True)
class Tree:
    """The document's value, and where each value and each key of it stands."""

    value: Value
    values: dict[Path, Position] = field(repr=False)
    keys: dict[Path, Position] = field(repr=False)

    def position(self, path: Path) -> Position:
        """Place of the value at `path`, or of the nearest one around it that the text has."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.values:
                return self.values[path[:length]]
        return START


class YamlInvalid(Exception):
    """The text is not YAML, or not within our limits."""

    def __init__(self, position: Position, reason: str) -> None:
        super().__init__(f"{position.line}:{position.column}: {reason}")
        self.position = position
        self.reason = reason


def read_tree(text: str) -> Tree:
    """Read one YAML document; an empty text is the value None.

    Raises:
        YamlInvalid: at the first mistake.
    """
    parser = YAML(typ="safe", pure=True)
    builder = _Builder(iter(parser.parse(text)))
    try:
        value = builder.document()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlInvalid(_at(mark), _in_words(error.problem)) from error
    except YAMLError as error:
        raise YamlInvalid(START, "not valid YAML: a character that YAML does not allow") from error
    return Tree(value, builder.values, builder.keys)


def _in_words(problem: str | None) -> str:
    """Say that it is YAML that is wrong: the parser's own words alone read like a rule of ours."""
    if problem is None:
        return "not valid YAML"
    hints = (hint for words, hint in _HINTS.items() if words in problem)
    return f"not valid YAML: {problem}{next(hints, '')}"


_HINTS = {
    "<block end>": " (is this line indented as its neighbours are?)",
    r"'\t'": " (indent with spaces)",
}


class _Builder:
    """Builds values from events, depth first."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._anchors: dict[str, Value] = {}
        self._open_anchors: set[str] = set()
        self._count = 0
        self.values: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}

    def document(self) -> Value:
        """Read the only document."""
        next(self._events)  # StreamStart
        event = next(self._events)
        if isinstance(event, StreamEndEvent):
            return None
        assert isinstance(event, DocumentStartEvent), "a stream holds documents"
        value = self._value(next(self._events), ())
        next(self._events)  # DocumentEnd
        event = next(self._events)
        if not isinstance(event, StreamEndEvent):
            raise YamlInvalid(_at(event.start_mark), "a second document: one file, one document")
        return value

    def _value(self, event: Event, path: Path) -> Value:
        here = _at(event.start_mark)
        self._take(len(path), 1, here)
        self.values[path] = here
        if isinstance(event, AliasEvent):
            return self._aliased(event.anchor, path, here)
        anchor: str | None = getattr(event, "anchor", None)
        if anchor is not None:
            self._open_anchors.add(anchor)
        value = self._own_value(event, path, here)
        if anchor is not None:
            self._open_anchors.discard(anchor)
            self._anchors[anchor] = value
        return value

    def _own_value(self, event: Event, path: Path, here: Position) -> Value:
        if getattr(event, "tag", None) not in {None, "!"}:
            raise YamlInvalid(here, "tags such as !!str are not supported: write the plain value")
        if isinstance(event, ScalarEvent):
            return _scalar(event.value, plain=event.style is None and event.implicit[0])
        if isinstance(event, SequenceStartEvent):
            return self._sequence(path)
        assert isinstance(event, MappingStartEvent), "the only kind left"
        return self._mapping(path)

    def _sequence(self, path: Path) -> Value:
        items: list[Value] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            items.append(self._value(event, (*path, len(items))))
        return items

    def _mapping(self, path: Path) -> Value:
        members: dict[str, Value] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            here = _at(event.start_mark)
            key = self._key(event, here)
            if key in members:
                first = self.keys[(*path, key)]
                raise YamlInvalid(here, f"{key!r} stands here twice (first in line {first.line})")
            self.keys[(*path, key)] = here
            members[key] = self._value(next(self._events), (*path, key))
        return members

    def _key(self, event: Event, here: Position) -> str:
        if not isinstance(event, ScalarEvent):
            raise YamlInvalid(here, "a key must be plain text")
        if event.value == "<<" and event.style is None:
            raise YamlInvalid(
                here, "merge keys (<<) are not supported: repeat the fields, or use an alias for a value"
            )
        return str(event.value)

    def _aliased(self, anchor: str, path: Path, here: Position) -> Value:
        if anchor in self._open_anchors:
            raise YamlInvalid(here, f"*{anchor} stands inside itself")
        if anchor not in self._anchors:
            raise YamlInvalid(here, f"*{anchor} is not defined above")
        value = self._anchors[anchor]
        self._copy_positions(value, path, here)
        return value

    def _copy_positions(self, value: Value, path: Path, here: Position) -> None:
        """Count what an alias repeats; errors inside it point to where it is used."""
        children: list[tuple[str | int, Value]]
        if isinstance(value, dict):
            children = list(value.items())
        elif isinstance(value, list):
            children = list(enumerate(value))
        else:
            return
        self._take(len(path) + 1, len(children), here)
        for step, child in children:
            self._copy_positions(child, (*path, step), here)

    def _take(self, depth: int, count: int, here: Position) -> None:
        self._count += count
        if depth > DEPTH_MAX:
            raise YamlInvalid(here, f"nested deeper than {DEPTH_MAX} levels")
        if self._count > VALUES_MAX:
            raise YamlInvalid(here, f"more than {VALUES_MAX} values")


def _at(mark: StringMark | None) -> Position:
    return Position(mark.line + 1, mark.column + 1) if mark is not None else START


_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), Decimal("Infinity")),
}
_WHOLE = re.compile(r"[-+]?[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?", re.ASCII)


def _scalar(text: str, *, plain: bool) -> Value:
    """Resolve a scalar by the core schema (YAML 1.2.2, 10.3.2), without octal, hexadecimal and not-a-number."""
    if not plain or len(text) > NUMBER_MAX_CHARS:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return Decimal(text) if _DECIMAL.fullmatch(text) else text
