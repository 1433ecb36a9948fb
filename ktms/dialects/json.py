r"""JSON by spans: where the top-level members of an object stand, so that an edit keeps every other byte.

Rules: msgspec does the parsing (in C, whole body, once); the walk over its result only adds positions. Keys are
compared after unescaping, so `"\u006dodel"` is `model` here as it is for the peer. Requests are read strictly
(`top_level`), answers leniently (`Members`): an answer with a repeated name is the vendor's affair.
Work is linear in the body whatever it holds. Not here: what a member means (each dialect).
"""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

T = TypeVar("T")

MAX_DEPTH = 64
"""Deepest nesting taken from a client: the public API says so, and parsers behind us break somewhere above it."""


class BadJson(ValueError):
    """The bytes are not one JSON object that we take. `message` is fit for the client: it quotes no content."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Span(msgspec.Struct, frozen=True, gc=False):
    """One member: `key` is where its name's opening quote stands, `body[start:end]` is its value."""

    key: int
    start: int
    end: int


_raw_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_SPACE = rb"[ \t\r\n]*+"
_STRING = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
_KEY = re.compile(_SPACE + _STRING + _SPACE + rb":" + _SPACE)
_AFTER = re.compile(_SPACE + rb"[,}]")
_SCALAR = re.compile(_STRING + rb"|[^\[{\"][^,} \t\r\n]*+")
_BRACKET = re.compile(_STRING + rb"|[{}\[\]]")
_EMPTY = re.compile(rb'null|false|""|\[[ \t\r\n]*+\]|\{[ \t\r\n]*+\}')
_RUN = re.compile(rb"(\{*+)(\}++)")
_COMMA = 0x2C
_BLANK = 0x20
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]%b\\u[dD][c-fC-F]%b|(u[dD][89a-fA-F]%b)|.)" % ((rb"[0-9a-fA-F]{2}",) * 3)
)
_AS_BRACES = bytes.maketrans(b"[]", b"{}")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def top_level(body: bytes) -> dict[str, Span]:
    """Find the members of the object that is the whole of `body`, in their order.

    Raises:
        BadJson: not JSON, not UTF-8, not an object, nested deeper than MAX_DEPTH, or a name given twice.
    """
    if not body.isascii():
        _check_utf8(body)
    raws, text = _decoded(body)
    if _too_deep(text):
        raise BadJson(f"the body is nested deeper than {MAX_DEPTH} levels")
    return _walk(text, raws)


class Members:
    """The top-level members of an answer, read leniently: of several members of one name `span` tells the first.

    Raises:
        BadJson: the bytes are not JSON, or not an object.
    """

    __slots__ = ("_raws", "_text")

    def __init__(self, body: bytes) -> None:
        self._raws, self._text = _decoded(body)

    def __contains__(self, name: str) -> bool:
        return name in self._raws

    def get(self, name: str) -> bytes | None:
        """JSON text of a value (the last one where a name is repeated, as most parsers do); None if absent."""
        raw = self._raws.get(name)
        return None if raw is None else bytes(raw)

    def span(self, name: str) -> Span | None:
        """Where the first member of that name stands; None if absent."""
        if name not in self._raws:
            return None
        try:
            return _walk(self._text, self._raws, name)[name]
        except _Repeated:
            return _first_by_scan(self._text, name)


def parsed(body: bytes) -> object:
    """Parse all of it, for what is rare and small (errors).

    Raises:
        BadJson: the bytes are not JSON.
    """
    try:
        return msgspec.json.decode(mended(body))
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadJson(f"not valid JSON: {error}") from error


def is_empty(raw: bytes) -> bool:
    """Whether a JSON value says nothing: null, false, or an empty string, list or object."""
    return _EMPTY.fullmatch(raw) is not None


def splice(body: bytes, edits: Sequence[tuple[int, int, bytes]]) -> bytes:
    """Replace each `body[start:end]` by the bytes beside it; edits come in order and do not overlap."""
    pieces: list[bytes] = []
    at = 0
    for start, end, new in edits:
        pieces += (body[at:start], new)
        at = end
    pieces.append(body[at:])
    return b"".join(pieces)


def as_json(value: object) -> bytes:
    """Write a value of ours (texts, numbers, lists, dicts) as compact JSON."""
    return msgspec.json.encode(value)


def decoded(decode: Callable[[bytes], T], raw: bytes) -> T:
    """Decode JSON text that has been parsed before, lone surrogate escapes included.

    Raises:
        msgspec.ValidationError: the value has another shape.
        BadJson: not UTF-8, which that parse does not see in what it skips.
    """
    try:
        return decode(raw)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return _decoded_mended(decode, mended(raw))


def _decoded_mended(decode: Callable[[bytes], T], text: bytes) -> T:
    try:
        return decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        raise BadJson(f"not valid JSON: {error}") from error


def mended(text: bytes) -> bytes:
    r"""Put U+FFFD for each lone surrogate escape, at equal length, so that spans stay true.

    `"\ud83d"` alone is within JSON's grammar (RFC 8259, 8.2) and is seen where a peer cuts text by UTF-16 units;
    msgspec refuses it. Only for reading: the bytes that travel keep it.
    """
    return _ESCAPE.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], text)


class _Repeated(BadJson):
    """The walk came out of step with the parse: a name occurs twice (the parse keeps only the last value)."""

    def __init__(self) -> None:
        super().__init__("the body gives a top-level name twice")


def _check_utf8(body: bytes) -> None:
    try:
        body.decode()  # msgspec does not look inside what it skips
    except UnicodeDecodeError as error:
        raise BadJson("the body is not valid UTF-8") from error


def _decoded(body: bytes) -> tuple[dict[str, msgspec.Raw], bytes]:
    """Parse; the second value is what the first was read from: `body`, or as long and with surrogates mended."""
    try:
        return _raw_members(body), body
    except msgspec.ValidationError as error:
        raise BadJson("the body must be a JSON object") from error
    except msgspec.DecodeError as error:
        text = mended(body)
        if text != body:
            return _decoded(text)
        raise BadJson(f"the body is not valid JSON: {error}") from error
    except RecursionError as error:  # no DecodeError: msgspec gives up near 1,000 levels
        raise BadJson(f"the body is nested deeper than {MAX_DEPTH} levels") from error


def _walk(body: bytes, raws: dict[str, msgspec.Raw], until: str | None = None) -> dict[str, Span]:
    """Find where the members stand that were parsed, or those up to `until`.

    In step by induction: the next name must stand at `at`, its value behind it, and then a comma or brace. The
    parse keeps one value per name at the place of its first: where a name is repeated one of these fails.
    """
    spans: dict[str, Span] = {}
    at = body.index(b"{") + 1
    more = bool(raws)
    for key, raw in raws.items():
        if body[at] == _BLANK:
            at += 1
        name = b'"%b":' % key.encode()
        start = at + len(name)
        if not body.startswith(name, at):
            at, start = _place(body, at, key)
        elif body[start] == _BLANK:
            start += 1
        if not body.startswith(raw, start):
            at, start = _place(body, at, key)
            if not body.startswith(raw, start):
                raise _Repeated
        end = start + len(raw)
        spans[key] = Span(at, start, end)
        if body[end] == _COMMA:
            at = end + 1
        else:
            at, more = _behind(body, end)
        if key == until:
            return spans
    if more:
        raise _Repeated
    return spans


def _place(body: bytes, at: int, key: str) -> tuple[int, int]:
    """Read a name that is followed by spaces or holds escapes; where it and its value begin."""
    match = _KEY.match(body, at)
    if match is None or _name(match[1]) != key:
        raise _Repeated
    return match.start(1) - 1, match.end()


def _behind(body: bytes, end: int) -> tuple[int, bool]:
    """Where the next member may begin, and whether there is one."""
    match = _AFTER.match(body, end)
    if match is None:
        raise _Repeated
    return match.end(), body[match.end() - 1] == _COMMA


def _first_by_scan(body: bytes, name: str) -> Span:
    """Find the first of several members of one name, in a valid object that the walk refuses."""
    at = body.index(b"{") + 1
    while True:
        match = _KEY.match(body, at)
        assert match is not None, "the name is there"
        end = _value_end(body, match.end())
        if _name(match[1]) == name:
            return Span(match.start(1) - 1, match.end(), end)
        after = _AFTER.match(body, end)
        assert after is not None, "a member is followed by a comma or brace"
        at = after.end()


def _value_end(body: bytes, start: int) -> int:
    scalar = _SCALAR.match(body, start)
    if scalar is not None:
        return scalar.end()
    depth = 0
    for token in _BRACKET.finditer(body, start):
        mark = body[token.start()]
        depth += (mark in b"[{") - (mark in b"]}")
        if depth == 0:
            return token.end()
    raise AssertionError("brackets of a valid body close")


def _name(raw: bytes) -> str:
    return msgspec.json.decode(b'"%b"' % raw, type=str) if b"\\" in raw else raw.decode()


def _too_deep(body: bytes) -> bool:
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return False  # proves it without a scan: nearly every small body ends here
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    nest = b"".join(body.split(b'"')[::2]).translate(_AS_BRACES, _NOT_BRACKETS)
    limit = MAX_DEPTH
    while nest:
        peeled = nest.replace(b"{}", b"")  # the innermost level everywhere: the height falls by one
        limit -= 1
        if 2 * len(peeled) > len(nest):  # it no longer halves: walking what is left is cheaper now
            return _higher_than(limit, peeled)
        nest = peeled
    return False


def _higher_than(limit: int, nest: bytes) -> bool:
    depth = 0
    for run in _RUN.finditer(nest):
        opened, closed = run.span(1), run.span(2)
        depth += opened[1] - opened[0]
        if depth > limit:
            return True
        depth -= closed[1] - closed[0]
    return False
