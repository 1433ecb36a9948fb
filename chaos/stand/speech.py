"""What targets write: answers of the chat API as JSON and as events, lists of models, metrics, errors, nonsense.

Each token is a word that nobody else says, so a loss or a mixture shows at the client. Not here: when.
"""

import gzip
import json

from chaos.stand.asked import Asked

CREATED = 1_764_460_800
"""When every answer says that it was made."""

DONE = b"data: [DONE]\n\n"

GARBAGE = (b'data: {"choices":[{"index":0,"delta":{"content":"\n\n', b"data: <html>502 Bad Gateway</html>\n\n")
"""Events that are none."""

PAGE = b"<html><body>502 Bad Gateway</body></html>"
"""A body that is no answer."""

ENDLESS_HEAD = b'data: {"choices":[{"index":0,"delta":{"content":"'
ENDLESS_PIECE = b"a" * (256 << 10)

VERSION = b'{"version":"0.11.0"}'

METRICS = """\
vllm:num_requests_running{{engine="0",model_name="{model}"}} {running}.0
vllm:num_requests_waiting{{engine="0",model_name="{model}"}} 0.0
vllm:kv_cache_usage_perc{{engine="0",model_name="{model}"}} 0.0
"""


def compact(value: object) -> bytes:
    """Encode without spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


def token_text(exchange: int, nth: int) -> str:
    """Give the text of one token."""
    return f"{exchange}.{nth} "


def usage(asked: Asked) -> dict[str, int]:
    """Give the counts of an answer."""
    total = asked.prompt_tokens + asked.tokens
    return {"prompt_tokens": asked.prompt_tokens, "completion_tokens": asked.tokens, "total_tokens": total}


def whole(asked: Asked, text: str) -> bytes:
    """Write an answer that is no stream."""
    message = {"role": "assistant", "content": text}
    return compact(
        {
            "id": f"chatcmpl-{asked.exchange}",
            "object": "chat.completion",
            "created": CREATED,
            "model": asked.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage(asked),
        }
    )


def opening(asked: Asked) -> bytes:
    """Write the event before the first token."""
    return _event(asked, {"role": "assistant", "content": ""}, None)


def token(asked: Asked, text: str) -> bytes:
    """Write the event of one token."""
    return _event(asked, {"content": text}, None)


def closing(asked: Asked) -> bytes:
    """Write what ends a stream: the reason, the counts where they were asked for, the end mark."""
    counts = _chunk(asked, [], usage=usage(asked)) if asked.usage_asked else b""
    return _event(asked, {}, "stop") + counts + DONE


def error(status: int) -> bytes:
    """Write an error."""
    fields = {"message": f"Something is wrong ({status}).", "type": "server_error", "param": None, "code": None}
    return compact({"error": fields})


def packed(asked: Asked) -> bytes:
    """Write a good answer in a coding that nobody has asked for."""
    text = "".join(token_text(asked.exchange, nth) for nth in range(1, asked.tokens + 1))
    return gzip.compress(token(asked, text) + closing(asked) if asked.streamed else whole(asked, text))


def models(name: str, window: int | None, *, away: bool = False) -> bytes:
    """List the one model there is; one that is not in memory says so."""
    card: dict[str, object] = {"id": name, "object": "model", "created": CREATED, "owned_by": "chaos"}
    if away:
        card["status"] = {"value": "unloaded"}
    return compact({"object": "list", "data": [card if window is None else {**card, "max_model_len": window}]})


def metrics(name: str, running: int) -> bytes:
    """Tell of the load, as the engine does that nodes say they are."""
    return METRICS.format(model=name, running=running).encode()


def _event(asked: Asked, delta: dict[str, str], finish: str | None) -> bytes:
    return _chunk(asked, [{"index": 0, "delta": delta, "finish_reason": finish}])


def _chunk(asked: Asked, choices: list[dict[str, object]], **more: object) -> bytes:
    members = {
        "id": f"chatcmpl-{asked.exchange}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": asked.model,
        "choices": choices,
        **more,
    }
    return b"data: %b\n\n" % compact(members)
