"""A request body brought to one form: two bodies that mean the same have one digest.

Order of members and white space do not matter; every value does. Numbers count as they are written (`1` is not
`1.0`: a vendor may tell them apart), texts by what they say, a name that is given twice inside of a nested object
by all of its values. `model` and `ktms` are left out: what was decided about them stands in their place
(`engine/answer_cache.py`).
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring_ascii

LEFT_OUT = frozenset({"model", "ktms"})

_WORDS = {None: b"null", True: b"true", False: b"false"}


def digest_of(parts: Iterable[bytes]) -> bytes:
    """Give SHA-256 over parts; where one ends and the next begins counts too."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def canonical_digest(body: bytes) -> bytes:
    """Give SHA-256 over the one form of a body that was read before (`read_request`).

    Two parsers never agree about everything: what this one refuses counts as it is written.
    """
    try:
        members = _read(body.decode())
    except ValueError:
        return digest_of((b"raw", body))
    kept = tuple(member for member in members if member[0] not in LEFT_OUT)
    return digest_of((b"canonical", b"".join(_written(kept))))


class _Members(tuple[tuple[str, object], ...]):
    """An object: its members in the order of their names."""

    __slots__ = ()


def _sorted(pairs: list[tuple[str, object]]) -> _Members:
    return _Members(sorted(pairs, key=lambda pair: pair[0]))


_read = json.JSONDecoder(
    object_pairs_hook=_sorted,
    parse_int=str.encode,
    parse_float=str.encode,
    parse_constant=str.encode,
    strict=False,
).decode


def _written(value: object) -> Iterator[bytes]:
    """Write a value; numbers are bytes, so they never meet a text that looks alike."""
    match value:
        case bytes():
            yield value
        case str():
            yield encode_basestring_ascii(value).encode()
        case list():
            yield b"["
            for item in value:
                yield from _written(item)
                yield b","
            yield b"]"
        case tuple():
            yield b"{"
            for name, item in value:
                yield from _written(name)
                yield b":"
                yield from _written(item)
                yield b","
            yield b"}"
        case _:
            yield _WORDS[value]  # type: ignore[index]  # nothing else is left of what JSON can say
