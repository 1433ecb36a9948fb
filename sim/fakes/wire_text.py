"""The bytes that targets write: JSON, server-sent events, and chunks with a hole where the token goes.

An answer encodes its chunk once and joins bytes for each token: encoding JSON per token would be most of what a
world costs. Not here: what is in the JSON (`dialect.py` and each engine and vendor).
"""

import json
from collections.abc import Callable, Mapping

CREATED = 1_764_460_800
"""When every answer says it was made: the time of a world is nobody's business in a body."""

DONE = b"data: [DONE]\n\n"
"""The end mark of a stream."""

HOLE = "\x7f"
"""Stands for the token while a chunk is encoded; JSON leaves it as one byte, and nothing else holds it."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

Json = Mapping[str, object]
Write = Callable[[int, bytes], bytes]
"""Writes one chunk: how many tokens are out with it, and its text, which needs no escaping."""


def compact(value: Json) -> bytes:
    """Encode without spaces, UTF-8 unescaped."""
    return _encode(value).encode()


def event(data: bytes) -> bytes:
    """Make one server-sent event of JSON text."""
    return b"data: %b\n\n" % data


def told(value: Json) -> bytes:
    """Make one server-sent event of a value."""
    return b"data: %b\n\n" % compact(value)


def writer(chunk: Json) -> Write:
    """Make the writer of a chunk that has `HOLE` in place of its text."""
    before, _, after = told(chunk).partition(HOLE.encode())
    return lambda _, text: before + text + after


def usage(prompt: int, completion: int, **details: object) -> dict[str, object]:
    """Make a usage object; `details` stand behind the three counts."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        **details,
    }


def token_text(exchange: int, nth: int) -> str:
    """Give the text of one token: nobody else says the same, so a mixture or a loss shows at the client."""
    return f"{exchange}.{nth} "


def card(name: str, owner: str, **more: object) -> Json:
    """Describe one model in the list of models."""
    return {"id": name, "object": "model", "created": CREATED, "owned_by": owner, **more}
