"""The one request that reaches an engine, built from constants: method, path, host and headers.

Nothing of a caller's head is in it. Host is the engine's own address: Ollama answers any other with an empty
403.
Not here: how it is sent (`relay.py`), what its body holds (`body.py`).
"""

from dataclasses import dataclass

METHOD = "POST"
PATH = "/v1/chat/completions"

SKIPPED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""What aiohttp would add by itself: its name and version, and codings that we do not want."""

_EVENTS = "text/event-stream"
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """Where and with which headers; to these aiohttp adds Content-Length."""

    url: str
    headers: tuple[tuple[str, str], ...]


def chat_request(engine_url: str, *, streams: bool) -> EngineRequest:
    """Give the request for a chat; `engine_url` is the operator's, with or without a path before `/v1`."""
    origin = engine_url.rstrip("/")
    authority = origin.partition("://")[2].partition("/")[0]
    headers = (
        ("Host", authority),
        ("Content-Type", _JSON),
        ("Accept", _EVENTS if streams else _JSON),
        ("Accept-Encoding", "identity"),
        ("User-Agent", "ktms-node"),
    )
    return EngineRequest(origin + PATH, headers)
