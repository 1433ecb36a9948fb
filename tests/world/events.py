"""Builders for what an OpenAI-compatible vendor sends, in the notation of the cases file.

`C(x)` content, `F(r)` finish, `U(p, c)` usage, `DONE` the end mark: each a complete server-sent event, as bytes.
The same letters exist for `/v1/completions` with a leading `T`. Nothing here reads the product's own dialects.
"""

import json
from collections.abc import Mapping, Sequence

VENDOR_MODEL = "vendor-model-2026-01-01"
"""What the mock vendor calls its model: never equal to a public name, so a leak of it shows."""

STREAM_ID = "chatcmpl-1"
CREATED = 1_764_460_800

Json = Mapping[str, object] | Sequence[object] | str | int | float | bool | None


def compact(value: Json) -> bytes:
    """Encode as vendors do: no spaces, UTF-8 unescaped."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def event(data: bytes | Json) -> bytes:
    """Make one data event; bytes are taken as they are."""
    return b"data: %b\n\n" % (data if isinstance(data, bytes) else compact(data))


def usage(prompt: int, completion: int, **extra: object) -> dict[str, object]:
    """Make a usage object; `extra` members (details of cached tokens, say) are appended."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        **extra,
    }


def _chat(choices: Sequence[object], **extra: object) -> dict[str, object]:
    return {
        "id": STREAM_ID,
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": VENDOR_MODEL,
        "choices": choices,
        **extra,
    }


def delta(members: Mapping[str, object], *, finish: str | None = None, **extra: object) -> bytes:
    """Make a chat chunk with this delta; `extra` members stand beside `choices`."""
    return event(_chat([{"index": 0, "delta": members, "finish_reason": finish}], **extra))


def role() -> bytes:
    """Make the first chunk many vendors send: a role and nothing visible."""
    return delta({"role": "assistant", "content": ""})


def C(text: str) -> bytes:  # noqa: N802  # the letters are those of the cases file
    """Make a chat chunk with content."""
    return delta({"content": text})


def F(reason: str) -> bytes:  # noqa: N802  # the letters are those of the cases file
    """Make a chat chunk with an empty delta and a finish reason."""
    return delta({}, finish=reason)


def U(prompt: int, completion: int, **extra: object) -> bytes:  # noqa: N802  # the letters are those of the cases file
    """Make the usage chunk: `choices` present and empty."""
    return event(_chat([], usage=usage(prompt, completion, **extra)))


DONE = event(b"[DONE]")


def comment(text: str) -> bytes:
    """Make a comment line with its blank line."""
    return b": %b\n\n" % text.encode()


def error_event(
    message: str, *, code: int | str | None = None, kind: str = "invalid_request_error", name: str | None = None
) -> bytes:
    """Make an error object as an event, with an `event:` line when `name` is given."""
    data = event({"error": {"message": message, "type": kind, "code": code}})
    return data if name is None else b"event: %b\n%b" % (name.encode(), data)


def _text(choices: Sequence[object], **extra: object) -> bytes:
    return event(
        {
            "id": "cmpl-1",
            "object": "text_completion",
            "created": CREATED,
            "model": VENDOR_MODEL,
            "choices": choices,
            **extra,
        }
    )


def TC(text: str) -> bytes:  # noqa: N802  # the letters are those of the cases file
    """Make a chunk of a streamed text completion."""
    return _text([{"index": 0, "text": text, "logprobs": None, "finish_reason": None}])


def TF(reason: str) -> bytes:  # noqa: N802  # the letters are those of the cases file
    """Make the finishing chunk of a streamed text completion."""
    return _text([{"index": 0, "text": "", "logprobs": None, "finish_reason": reason}])


def TU(prompt: int, completion: int) -> bytes:  # noqa: N802  # the letters are those of the cases file
    """Make the usage chunk of a streamed text completion."""
    return _text([], usage=usage(prompt, completion))


def chat_answer(text: str, *, prompt: int = 7, completion: int = 2, **extra: object) -> bytes:
    """Make the body of a chat answer that is not streamed; `extra` members are appended."""
    message = {"role": "assistant", "content": text}
    return compact(
        {
            "id": STREAM_ID,
            "object": "chat.completion",
            "created": CREATED,
            "model": VENDOR_MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage(prompt, completion),
            **extra,
        }
    )


def completion_answer(text: str, *, prompt: int = 7, completion: int = 2) -> bytes:
    """Make the body of a text completion that is not streamed."""
    return compact(
        {
            "id": "cmpl-1",
            "object": "text_completion",
            "created": CREATED,
            "model": VENDOR_MODEL,
            "choices": [{"index": 0, "text": text, "logprobs": None, "finish_reason": "stop"}],
            "usage": usage(prompt, completion),
        }
    )


def embedding_answer(vectors: Sequence[Sequence[float]], *, prompt: int = 3) -> bytes:
    """Make the body of an embeddings answer."""
    data = [{"object": "embedding", "index": i, "embedding": list(v)} for i, v in enumerate(vectors)]
    totals = {"prompt_tokens": prompt, "total_tokens": prompt}
    return compact({"object": "list", "model": VENDOR_MODEL, "data": data, "usage": totals})


def error_answer(message: str, *, code: int | str | None = None, kind: str = "invalid_request_error") -> bytes:
    """Make the body of an error answer."""
    return compact({"error": {"message": message, "type": kind, "param": None, "code": code}})
