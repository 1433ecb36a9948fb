"""Reads what a request asks for: only the facts the demo node acts on. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ktms.adapters.demo_node.speech import MODEL


class BadRequest(Exception):
    """The request cannot be answered; the message is for the caller and quotes nothing of the request."""

    def __init__(self, message: str, *, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.status = status


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `texts` are the pieces of the prompt, or the inputs of an embedding, in order."""

    texts: tuple[str, ...]
    stream: bool
    include_usage: bool
    tokens_max: int | None
    base64: bool


def read(body: bytes, prompt_member: str) -> Asked:
    """Read a request whose prompt is in `prompt_member` (messages, prompt or input).

    Raises:
        BadRequest: it is not JSON, a member that is needed is missing or of another type, or the model is another.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest("the body is not valid JSON") from error
    if not isinstance(value, dict):
        raise BadRequest("the body is not a JSON object")
    model = value.get("model")
    if not isinstance(model, str):
        raise BadRequest("a model name is needed", param="model")
    if model != MODEL:
        raise BadRequest(f"this demo node has one model: {MODEL}", param="model", status=404)
    prompt = value.get(prompt_member)
    if not isinstance(prompt, str | list) or not prompt:
        raise BadRequest(f"{prompt_member} is needed", param=prompt_member)
    options = value.get("stream_options")
    return Asked(
        texts=tuple(_texts(prompt)),
        stream=value.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        tokens_max=_tokens_max(value),
        base64=value.get("encoding_format") == "base64",
    )


def _tokens_max(value: Mapping[str, object]) -> int | None:
    for member in ("max_completion_tokens", "max_tokens"):
        limit = value.get(member)
        if limit is None:
            continue
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise BadRequest(f"{member} is not a positive whole number", param=member)
        return limit
    return None


def _texts(prompt: object) -> Iterator[str]:
    """Walk over a string, a list of strings, messages, or messages with text parts."""
    match prompt:
        case str():
            yield prompt
        case list():
            for part in prompt:
                yield from _texts(part)
        case {"content": str() | list() as content}:
            yield from _texts(content)
        case {"type": "text", "text": str() as text}:
            yield text
        case _:
            pass  # images, token numbers and the like count as nothing
