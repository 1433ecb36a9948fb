"""A request as a target reads it: its members, and what the client's prompt says to the fake.

A prompt is `call=<id> tokens=<n> …`; whatever else is in it is only counted. Not here: what is answered.
"""

import json
import re
from typing import Protocol

from sim.fakes.steps import Asked

TOKENS_UNASKED = 16
"""How much is written for a prompt that does not say."""

BYTES_PER_TOKEN = 4
"""How prompts are counted, about as English is."""

Headers = tuple[tuple[str, str], ...]

_CALL = re.compile(r"\bcall=(\S+)")
_TOKENS = re.compile(r"\btokens=(\d{1,6})")


class _Members(Protocol):
    def get(self, name: str, /) -> object: ...


def read_asked(exchange: int, path: str, headers: Headers, body: bytes) -> Asked | None:
    """Read a request; None where its body is no JSON object."""
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(members, dict):
        return None
    traced = next((value for name, value in headers if name.lower() == "traceparent"), "")
    found = _CALL.search(traced) or _CALL.search(prompt_of(members))
    options = members.get("stream_options")
    return Asked(
        exchange=exchange,
        call="" if found is None else found[1],
        path=path,
        model=str(members.get("model") or ""),
        streamed=members.get("stream") is True,
        usage_asked=isinstance(options, dict) and options.get("include_usage") is True,
        max_tokens=_count(members.get("max_completion_tokens")) or _count(members.get("max_tokens")),
        members=members,
        headers=headers,
    )


def unread(exchange: int, path: str, headers: Headers) -> Asked:
    """Give what is known of a request whose body says nothing."""
    return Asked(
        exchange, "", path, "", streamed=False, usage_asked=False, max_tokens=None, members={}, headers=headers
    )


def prompt_of(members: _Members) -> str:
    """Give the text of the last user message, of `prompt`, or of `input`."""
    messages = members.get("messages")
    if isinstance(messages, list):
        for message in reversed(messages):
            if isinstance(message, dict) and message.get("role") == "user":
                return _text(message.get("content"))
    return _text(members.get("prompt") or members.get("input"))


def tokens_wanted(asked: Asked) -> int:
    """Give how many tokens the prompt asks for."""
    found = _TOKENS.search(prompt_of(asked.members))
    return TOKENS_UNASKED if found is None else int(found[1])


def prompt_tokens(asked: Asked) -> int:
    """Count the tokens of all there is to read."""
    messages = asked.members.get("messages")
    texts = [_text(asked.members.get("prompt") or asked.members.get("input"))]
    if isinstance(messages, list):
        texts = [_text(message.get("content")) for message in messages if isinstance(message, dict)]
    return sum(1 + len(text.encode()) // BYTES_PER_TOKEN for text in texts)


def inputs_total(asked: Asked) -> int:
    """Count the texts to embed."""
    given = asked.members.get("input")
    return len(given) if isinstance(given, list) else 1


def header_of(asked: Asked, name: str) -> str | None:
    """Give a request header by its lower-case name."""
    return next((value for known, value in asked.headers if known.lower() == name), None)


def _text(value: object) -> str:
    """Flatten text, a list of texts, or a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _text(value.get("text"))
    return " ".join(_text(part) for part in value) if isinstance(value, list) else ""


def _count(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None
