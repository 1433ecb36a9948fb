"""The forms a call can have: which route, streamed or not; and what a healthy vendor says in each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ktms.domain.conversation.usage import Usage
from tests.world.catalogues import MODEL
from tests.world.events import (
    DONE,
    TC,
    TF,
    TU,
    C,
    F,
    Json,
    U,
    chat_answer,
    completion_answer,
    embedding_answer,
)
from tests.world.script import Step, answer, stream

PROMPT = "What does a switchboard do all day?"
PROMPT_TOKENS = len(PROMPT) // 4
"""What the prompt is estimated at: four bytes are one token."""

TEXT = "It connects."
COUNTED = Usage(7, 2)
"""What a healthy vendor counts."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamForm:
    """A streamed call. `content`, `finish` and `usage` make the vendor's events."""

    name: str
    target: str
    fields: Mapping[str, Json]
    content: Callable[[str], bytes]
    finish: Callable[[str], bytes]
    usage: Callable[[int, int], bytes]
    said: Callable[[Mapping[str, Any]], str]
    counted: Usage = COUNTED

    def __str__(self) -> str:
        return self.name

    def healthy(self) -> tuple[Step, ...]:
        """Give the script of a vendor that answers well."""
        return stream(self.content(TEXT), self.finish("stop"), self.usage(7, 2), DONE)


@dataclass(frozen=True, slots=True, eq=False)
class WholeForm:
    """A call that is not streamed. `body` is the vendor's answer."""

    name: str
    target: str
    fields: Mapping[str, Json]
    body: bytes
    counted: Usage = COUNTED

    def __str__(self) -> str:
        return self.name

    def healthy(self) -> tuple[Step, ...]:
        """Give the script of a vendor that answers well."""
        return answer(self.body)


Form = StreamForm | WholeForm


def _chat_text(chunk: Mapping[str, Any]) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])


def _completion_text(chunk: Mapping[str, Any]) -> str:
    return "".join(choice["text"] for choice in chunk["choices"])


_MESSAGES: Json = [{"role": "user", "content": PROMPT}]

CHAT_STREAM = StreamForm(
    "chat-streamed",
    "/v1/chat/completions",
    {"model": MODEL, "stream": True, "messages": _MESSAGES},
    C,
    F,
    U,
    _chat_text,
)
COMPLETIONS_STREAM = StreamForm(
    "completions-streamed",
    "/v1/completions",
    {"model": MODEL, "stream": True, "prompt": PROMPT},
    TC,
    TF,
    TU,
    _completion_text,
)
CHAT = WholeForm("chat", "/v1/chat/completions", {"model": MODEL, "messages": _MESSAGES}, chat_answer(TEXT))
COMPLETIONS = WholeForm(
    "completions", "/v1/completions", {"model": MODEL, "prompt": PROMPT}, completion_answer(TEXT)
)
EMBEDDINGS = WholeForm(
    "embeddings",
    "/v1/embeddings",
    {"model": MODEL, "input": PROMPT},
    embedding_answer([[0.25, -1.0]]),
    Usage(3, 0),
)

STREAMS = (CHAT_STREAM, COMPLETIONS_STREAM)
WHOLES = (CHAT, COMPLETIONS, EMBEDDINGS)
FORMS: tuple[Form, ...] = (*STREAMS, *WHOLES)
