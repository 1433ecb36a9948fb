"""Pages with which a target turns a request down: over a limit, full, loading, or an error inside of a 200.

The words are those of real engines and vendors, told apart by the product alone. Not here: when (`answering.py`).
"""

from aiohttp import web

from chaos.stand.speech import compact

JSON, EVENTS = "application/json", "text/event-stream"

MEANINGS = {
    400: ("context_length_exceeded", "invalid_request_error", "The prompt is longer than the window."),
    429: ("rate_limit_exceeded", "requests", "Rate limit reached."),
    500: (None, "server_error", "The server had an error while processing the request."),
}
"""Code, type and words of an error inside of a 200, by the status that is meant."""


def limited(retry_after_s: float) -> web.Response:
    """Answer 429, and say for how long."""
    body = _error("rate_limit_exceeded", "requests", "Rate limit reached.")
    headers = {"Retry-After": f"{retry_after_s:g}"}
    return web.Response(status=429, body=body, content_type=JSON, headers=headers)


def busy() -> web.Response:
    """Answer as an engine does whose slots are all taken."""
    return web.Response(status=503, body=_error(None, "overloaded", "Model is overloaded"), content_type=JSON)


def loading() -> web.Response:
    """Answer as llama.cpp does, to everything, while it reads its weights."""
    fields = {"message": "Loading model", "type": "unavailable_error", "code": 503}
    return web.Response(status=503, body=compact({"error": fields}), content_type=JSON)


def meant(status: int, *, streamed: bool) -> web.Response:
    """Answer 200 with an error that means another status, as an event where a stream was asked for."""
    body = _error(*MEANINGS[status])
    if streamed:
        return web.Response(body=b"data: %b\n\n" % body, content_type=EVENTS)
    return web.Response(body=body, content_type=JSON)


def _error(code: str | None, kind: str, message: str) -> bytes:
    return compact({"error": {"message": message, "type": kind, "param": None, "code": code}})
