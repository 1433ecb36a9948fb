"""The shortcut for streams: an event that equals a parsed one in all but its strings needs no parse.

A frame is a parsed event with holes where its generated text, its padding and its running usage stood. An event
that fits (same bytes around the holes, a whole JSON string or flat object in each) has the same structure, so what
was learned by parsing holds: which bytes are the model's name at depth 1, that nothing finishes, that there is no
error. Anything else does not fit and is parsed. No guess is made about spellings, and none can go wrong.
"""

import re
from enum import Enum

import msgspec

from ktms.dialects.json import splice
from ktms.dialects.openai_chat.chunk import STRING_BODY, TEXT_NAMES, Chunk, read_chunk, string_bytes

MAX_FRAME_BYTES = 4096
"""Longest event learned from: those of a stream of tokens are a tenth of it, others do not repeat."""

MAX_HOLES = 6

_PADDING = (b"obfuscation",)  # OpenAI's, against guessing tokens by length
_NAMES = b"|".join((*TEXT_NAMES, *_PADDING))
_GAP = rb"[ \t]*+:[ \t]*+"
_OBJECT = rb"\{[^{}\\\x00-\x1f]*+(?:\{[^{}\\\x00-\x1f]*+\}[^{}\\\x00-\x1f]*+)*+\}"
_HOLE = re.compile(
    rb'(?<!\\)"(?:(?P<name>' + _NAMES + rb')"' + _GAP + rb'"(?P<text>' + STRING_BODY + rb')"'
    rb'|usage"' + _GAP + rb"(?P<usage>" + _OBJECT + rb"))"
)
_string_end = re.compile(STRING_BODY).match
_object_end = re.compile(_OBJECT).match


class Fit(msgspec.Struct, frozen=True, gc=False):
    """An event that fits: its bytes with the model's public name, its text, and its usage (JSON text)."""

    edited: bytes
    visible: bool
    text_bytes: int
    usage: bytes | None


class _Kind(Enum):
    TEXT = "generated, counted"
    PADDING = "a string that says nothing"
    USAGE = "a flat object"


class Frame:
    """One learned event; made by `learn`."""

    __slots__ = (
        "_fixed_text_bytes",
        "_fixed_visible",
        "_holes",
        "_name",
        "_name_bytes",
        "_name_part",
        "_name_start",
        "_tail",
    )

    def __init__(
        self, event: bytes, holes: list[tuple[int, int, _Kind]], emptied: Chunk, name: tuple[int, int, bytes]
    ) -> None:
        """`name` is where the event has its model's value, and what is to stand there (nothing for nowhere)."""
        self._holes: list[tuple[bytes, _Kind]] = []
        at = 0
        self._name_start, name_end, self._name = name
        self._name_bytes = name_end - self._name_start
        self._name_part = 0
        for part, (start, end, kind) in enumerate(holes, 1):
            self._holes.append((event[at:start], kind))
            at = end
            if at <= name[0]:
                self._name_part, self._name_start = part, name[0] - at
        self._tail = event[at:]
        self._fixed_visible = emptied.visible
        self._fixed_text_bytes = emptied.text_bytes

    def fit(self, event: bytes) -> Fit | None:
        """Compare an event; None where it must be parsed."""
        at = 0
        name_at = self._name_start
        text_bytes = self._fixed_text_bytes
        usage = None
        for part, (before, kind) in enumerate(self._holes, 1):
            if not event.startswith(before, at):
                return None
            start = at + len(before)
            match = _object_end(event, start) if kind is _Kind.USAGE else _string_end(event, start)
            if match is None:
                return None
            at = match.end()
            if kind is _Kind.TEXT:
                text_bytes += at - start if event.find(b"\\", start, at) < 0 else string_bytes(match[0])
            elif kind is _Kind.USAGE:
                usage = match[0]
            if part == self._name_part:
                name_at = at + self._name_start
        if event[at:] != self._tail:
            return None
        event = b"%b%b%b" % (event[:name_at], self._name, event[name_at + self._name_bytes :])
        return Fit(event, self._fixed_visible or text_bytes > 0, text_bytes, usage)


def learn(event: bytes, at: int, chunk: Chunk, *, legacy: bool, model: bytes) -> Frame | None:
    """Make a frame of an event whose payload begins `at` and was read as `chunk`; None where it makes no good one.

    The parse is asked again with all strings emptied and all filled: it must count exactly the text holes.
    """
    if len(event) > MAX_FRAME_BYTES or chunk.finished or chunk.error is not None or not chunk.text_bytes:
        return None
    if chunk.timings is not None:  # the last ones count, and they never come twice
        return None
    holes = _holes_of(event, at, chunk)
    texts = sum(kind is _Kind.TEXT for _, _, kind in holes)
    usages = sum(kind is _Kind.USAGE for _, _, kind in holes)
    if not texts or usages > 1 or len(holes) > MAX_HOLES:
        return None
    emptied = read_chunk(_with(event, holes, b"")[at:], legacy=legacy)
    filled = read_chunk(_with(event, holes, b"x")[at:], legacy=legacy)
    if filled.text_bytes != emptied.text_bytes + texts:
        return None
    if chunk.model is None:
        return Frame(event, holes, emptied, (0, 0, b""))
    start, end = at + chunk.model.start, at + chunk.model.end
    if any(start < hole < end for hole, _, _ in holes):  # an object for a name
        return None
    return Frame(event, holes, emptied, (start, end, model))


def _holes_of(event: bytes, at: int, chunk: Chunk) -> list[tuple[int, int, _Kind]]:
    holes = []
    for match in _HOLE.finditer(event, at):
        if match["usage"] is None:
            kind = _Kind.PADDING if match["name"] in _PADDING else _Kind.TEXT
            holes.append((*match.span("text"), kind))
        elif match["usage"] == chunk.usage:
            holes.append((*match.span("usage"), _Kind.USAGE))
    return holes


def _with(event: bytes, holes: list[tuple[int, int, _Kind]], string: bytes) -> bytes:
    return splice(event, [(start, end, string) for start, end, kind in holes if kind is not _Kind.USAGE])
