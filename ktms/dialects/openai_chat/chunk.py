"""What one streamed chunk says, by a real parse: the truth that the shortcut in `frame` must agree with.

Rules: a chunk is visible by the definition of the public API: any non-empty delta member but `role`, non-empty
`text`, or a finish reason. Odd types of single members are as good as absent; only what is no JSON object is bad.
"""

import re
from typing import NamedTuple

import msgspec

from ktms.dialects.json import BadJson, Members, Span, decoded, is_empty
from ktms.dialects.openai_chat.vendor_error import WireError, error_among

TEXT_NAMES = (b"content", b"text", b"reasoning_content", b"reasoning", b"thinking", b"refusal", b"arguments")
"""Members whose strings are generated text, wherever in a delta they stand."""

STRING_BODY = rb'[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+'
"""Inside of a JSON string; control characters must be escaped there (RFC 8259, 7)."""

MAX_NAME_CHARS = 256
"""So much is kept of a model's name: a file's path fits, and no engine has longer names."""

_TEXTS = re.compile(
    rb'(?<!\\)"(?:' + b"|".join(TEXT_NAMES) + rb')"[ \t\r\n]*+:[ \t\r\n]*+"(' + STRING_BODY + rb')"'
)
_NULL = msgspec.Raw(b"null")


class Chunk(NamedTuple):
    """`text_bytes` is about what the chunk adds to the answer; `usage` and `timings` are JSON text, not read yet.

    `indexes` are the choices it is about, `finished` those of them that end with it.
    """

    model: Span | None
    visible: bool
    text_bytes: int
    indexes: tuple[int, ...]
    finished: tuple[int, ...]
    usage: bytes | None
    error: WireError | None
    timings: bytes | None = None

    @property
    def only_usage(self) -> bool:
        """Whether there is nothing in it but usage: the extra chunk of `include_usage`."""
        return self.usage is not None and not self.indexes


class _Choice(msgspec.Struct, gc=False):
    index: msgspec.Raw = _NULL
    delta: msgspec.Raw = _NULL
    text: msgspec.Raw = _NULL
    finish_reason: msgspec.Raw = _NULL


_choices = msgspec.json.Decoder(list[_Choice]).decode
_delta = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_string = msgspec.json.Decoder(str).decode


def read_chunk(payload: bytes, *, legacy: bool) -> Chunk:
    """Read the data of one event; `legacy` is the completions route, whose choices hold `text`.

    Raises:
        BadJson: not a JSON object.
    """
    members = Members(payload)
    visible = False
    text_bytes = 0
    indexes: list[int] = []
    finished: list[int] = []
    for choice in _choices_of(members):
        index = _index(bytes(choice.index))
        shown, size = _size_of(choice, legacy=legacy)
        text_bytes += size
        indexes.append(index)
        if not is_empty(bytes(choice.finish_reason)):
            shown = True
            finished.append(index)
        visible = visible or shown
    return Chunk(
        members.span("model"),
        visible,
        text_bytes,
        tuple(indexes),
        tuple(finished),
        _filled(members, "usage"),
        error_among(members, payload),
        _filled(members, "timings"),
    )


def name_told(raw: bytes) -> str | None:
    """Read the value of a `model` member; None where it is no text or says nothing (Azure's first chunk)."""
    try:
        return decoded(_string, raw)[:MAX_NAME_CHARS] or None
    except (msgspec.ValidationError, BadJson):
        return None


def string_bytes(raw: bytes) -> int:
    r"""About how many UTF-8 bytes the inside of a JSON string stands for (`\uXXXX` as three); 0 only for none."""
    escapes = raw.count(b"\\")
    if not escapes:
        return len(raw)
    return max(1, len(raw) - escapes + raw.count(b"\\\\") - 2 * raw.count(b"\\u"))


def text_bytes_of(raw: bytes) -> int:
    """About how many bytes of generated text stand in a JSON value, at any depth."""
    return sum(string_bytes(text[1]) for text in _TEXTS.finditer(raw))


def _filled(members: Members, name: str) -> bytes | None:
    """JSON text of a member that is an object and not empty."""
    raw = members.get(name)
    return None if raw is None or not raw.startswith(b"{") or is_empty(raw) else raw


def _choices_of(members: Members) -> list[_Choice]:
    raw = members.get("choices")
    if raw is None:
        return []
    try:
        return decoded(_choices, raw)
    except msgspec.ValidationError:
        return []


def _index(raw: bytes) -> int:
    return int(raw) if raw.isdigit() and len(raw) < 8 else 0


def _size_of(choice: _Choice, *, legacy: bool) -> tuple[bool, int]:
    """Whether a choice shows something, and how much text that is."""
    if legacy:
        return _size_of_value(bytes(choice.text))
    try:
        delta = decoded(_delta, bytes(choice.delta))
    except msgspec.ValidationError:
        return False, 0
    visible = False
    text_bytes = 0
    for name, raw in delta.items():
        if name != "role":
            shown, size = _size_of_value(bytes(raw))
            visible = visible or shown
            text_bytes += size
    return visible, text_bytes


def _size_of_value(raw: bytes) -> tuple[bool, int]:
    if is_empty(raw):
        return False, 0
    if raw.startswith(b'"'):
        return True, string_bytes(raw[1:-1])
    return True, text_bytes_of(raw)
