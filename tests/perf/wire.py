"""The requests and answers of the benchmark: small, constant, realistic in size."""

import json

PATH = "/v1/chat/completions"
MODEL = "bench"
"""Public name of the model at the gateway."""

VENDOR_MODEL = "bench-vendor-model"
"""What the mock calls it: another name, so that the gateway's edit of the answer is really done."""

_MESSAGES = [
    {"role": "system", "content": "You answer in one sentence and you never guess."},
    {"role": "user", "content": "How does a switchboard know which line is free? Please keep it very short."},
]


def request_body(**members: object) -> bytes:
    """Make a small chat request; the mock finds its instructions among unknown members, which must pass."""
    body = {"model": MODEL, "messages": _MESSAGES, "temperature": 0.7, "max_tokens": 128, **members}
    return json.dumps(body, separators=(",", ":")).encode()


def stream_body(*, chunks: int, every_ms: int, hold: bool = False) -> bytes:
    """Make a streamed request for so many chunks at this pace; `hold` never ends the stream."""
    return request_body(stream=True, bench_chunks=chunks, bench_every_ms=every_ms, bench_hold=int(hold))


def request(body: bytes, key: str) -> bytes:
    """Write the whole request."""
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def answer_body() -> bytes:
    """Make an answer of about half a kilobyte."""
    said = "It watches the lamps: a dark lamp is a free line, and a lit one is a line in use. " * 2
    value = {
        "id": "chatcmpl-9xAbCdEfGhIjKlMn",
        "object": "chat.completion",
        "created": 1764460800,
        "model": VENDOR_MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": said},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 57, "completion_tokens": 39, "total_tokens": 96},
        "system_fingerprint": "fp_0123456789",
    }
    return json.dumps(value, separators=(",", ":")).encode()


def _chunk(choices: list[object], **members: object) -> bytes:
    value = {
        "id": "chatcmpl-9xAbCdEfGhIjKlMn",
        "object": "chat.completion.chunk",
        "created": 1764460800,
        "model": VENDOR_MODEL,
        "choices": choices,
        **members,
    }
    return b"data: %b\n\n" % json.dumps(value, separators=(",", ":")).encode()


def content_event() -> bytes:
    """Make one content chunk of about 0.2 kilobytes."""
    return _chunk([{"index": 0, "delta": {"content": " line"}, "finish_reason": None}])


def last_events(chunks: int) -> bytes:
    """Make what ends a stream: finish, usage, end mark."""
    finish = _chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    usage = _chunk([], usage={"prompt_tokens": 57, "completion_tokens": chunks, "total_tokens": 57 + chunks})
    return finish + usage + b"data: [DONE]\n\n"
