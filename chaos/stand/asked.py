"""A request as a target reads it, and what the client's prompt says to it.

A prompt is `call=<number> via=<gateway> tokens=<n> …`: so a target knows which call it serves and through whom,
whatever proxy lies between. Where calls ask the same, a header that travels on says it instead. A token that a
gateway asks for by itself says nothing. Not here: the answer.
"""

import json
import re
from dataclasses import dataclass

TOKENS_UNASKED = 1
"""How much is written for a prompt that does not say: the token that proves that an engine generates."""

CHARS_PER_TOKEN = 4
"""How prompts are counted, about as English is."""

CANARY = "unspeakable"
"""Begins every word of a prompt; a checker looks for it where no content may ever be."""

TRAVELS = "traceparent"
"""The header that says for which call and through whom, where the prompt is that of another call."""

_WORD = re.compile(r"\b(call|via|tokens)=(\S+)")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `call` and `gateway` are empty where it does not say."""

    exchange: int
    call: str
    gateway: str
    model: str
    streamed: bool
    usage_asked: bool
    tokens: int
    prompt_tokens: int
    key: str


def prompt(call: str, gateway: str, tokens: int, more: str) -> str:
    """Write the prompt of a call."""
    return f"call={call} via={gateway} tokens={tokens} {more}"


def travelling(call: str, gateway: str) -> str:
    """Write the header of a call that asks the same as another one."""
    return f"call={call} via={gateway}"


def read_asked(exchange: int, body: bytes, key: str, travelled: str = "") -> Asked:
    """Read a request; what is none says nothing. `travelled` is what its header says."""
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    members = told if isinstance(told, dict) else {}
    text = _prompt_of(members)
    words = dict(_WORD.findall(text)) | dict(_WORD.findall(travelled))
    options = members.get("stream_options")
    wanted = words.get("tokens", "")
    tokens = int(wanted) if wanted.isdecimal() else TOKENS_UNASKED
    allowed = members.get("max_completion_tokens") or members.get("max_tokens")
    return Asked(
        exchange=exchange,
        call=words.get("call", ""),
        gateway=words.get("via", ""),
        model=str(members.get("model") or ""),
        streamed=members.get("stream") is True,
        usage_asked=isinstance(options, dict) and options.get("include_usage") is True,
        tokens=min(tokens, allowed) if isinstance(allowed, int) else tokens,
        prompt_tokens=1 + len(text) // CHARS_PER_TOKEN,
        key=key,
    )


def _prompt_of(members: dict[str, object]) -> str:
    messages = members.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    content = last.get("content") if isinstance(last, dict) else None
    return content if isinstance(content, str) else ""
