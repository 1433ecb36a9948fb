"""Writes the demo node's answers in OpenAI's shapes. Pure; `created` is 0 because the node has no clock."""

import json
from collections.abc import Iterator, Mapping

from ktms.adapters.demo_node.asked import Asked, BadRequest
from ktms.adapters.demo_node.speech import MODEL, Speech, as_base64, count, vector

Json = Mapping[str, object]


class Kind:
    """The two shapes of generated text: chat and plain completion."""

    def __init__(self, prefix: str, whole: str, part: str) -> None:
        self.prefix = prefix
        self.whole = whole
        self.part = part


CHAT = Kind("chatcmpl", "chat.completion", "chat.completion.chunk")
COMPLETION = Kind("cmpl", "text_completion", "text_completion")


def models() -> Json:
    """List the one model."""
    return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "ktms-demo"}]}


def complete(kind: Kind, asked: Asked, said: Speech) -> Json:
    """Give the whole answer of a call that is not streamed."""
    choice: dict[str, object] = {"index": 0, "finish_reason": said.finish_reason}
    if kind is CHAT:
        choice["message"] = {"role": "assistant", "content": said.text}
    else:
        choice |= {"text": said.text, "logprobs": None}
    return {**_head(kind, kind.whole), "choices": [choice], "usage": _usage(asked, said)}


def events(kind: Kind, asked: Asked, said: Speech) -> Iterator[bytes]:
    """Yield the events of a streamed answer, one per word, with what comes before and after them."""
    if kind is CHAT:
        yield _event(kind, {"delta": {"role": "assistant", "content": ""}, "finish_reason": None})
    for word in said.words:
        shown = {"delta": {"content": word}} if kind is CHAT else {"text": word, "logprobs": None}
        yield _event(kind, {**shown, "finish_reason": None})
    last: Json = {"delta": {}} if kind is CHAT else {"text": "", "logprobs": None}
    yield _event(kind, {**last, "finish_reason": said.finish_reason})
    if asked.include_usage:
        yield _data({**_head(kind, kind.part), "choices": [], "usage": _usage(asked, said)})
    yield b"data: [DONE]\n\n"


def embeddings(asked: Asked) -> Json:
    """Give one vector per input."""
    vectors = [vector(text) for text in asked.texts]
    data = [
        {"object": "embedding", "index": index, "embedding": as_base64(v) if asked.base64 else v}
        for index, v in enumerate(vectors)
    ]
    prompt = count(asked.texts)
    return {
        "object": "list",
        "model": MODEL,
        "data": data,
        "usage": {"prompt_tokens": prompt, "total_tokens": prompt},
    }


def error(problem: BadRequest) -> Json:
    """Give the error body."""
    kind = "not_found_error" if problem.status == 404 else "invalid_request_error"  # HTTP not found
    return {"error": {"message": problem.message, "type": kind, "param": problem.param, "code": None}}


def encode(value: Json) -> bytes:
    """Encode as compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def _head(kind: Kind, name: str) -> dict[str, object]:
    return {"id": f"{kind.prefix}-demo", "object": name, "created": 0, "model": MODEL}


def _usage(asked: Asked, said: Speech) -> Json:
    prompt, completion = count(asked.texts), len(said.words)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _event(kind: Kind, choice: Json) -> bytes:
    return _data({**_head(kind, kind.part), "choices": [{"index": 0, **choice}]})


def _data(value: Json) -> bytes:
    return b"data: %b\n\n" % encode(value)
