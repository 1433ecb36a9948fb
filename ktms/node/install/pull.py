"""Has Ollama fetch a model, and shows how far it is (`POST /api/pull`, a line of JSON for each step).

Rules: Ollama checks each layer's SHA-256 itself and goes on where it was cut, so a second run loses nothing. Not
here: other engines, which have their models when they start.
"""

import json
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException

from ktms.node.install.refused import Refused
from ktms.node.plain_json import from_json

SILENCE_S = 300.0
"""Ollama says nothing while it checks a layer of tens of gigabytes."""

LINE_MAX_BYTES = 64 * 1024
"""A step is a hundred bytes of JSON."""

Shown = Callable[[int, int | None], None]
"""Takes how many bytes are here, and of how many."""

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def pull(url: str, model: str, shown: Shown) -> None:
    """Pull a model.

    Raises:
        Refused: Ollama cannot have it.
    """
    body = json.dumps({"model": model, "stream": True}).encode()
    request = urllib.request.Request(f"{url}/api/pull", body, {"Content-Type": "application/json"})  # noqa: S310
    sizes: dict[str, tuple[int, int]] = {}
    try:
        with _OPENER.open(request, timeout=SILENCE_S) as answer:
            is_done = False
            while line := answer.readline(LINE_MAX_BYTES):
                said = _step(line)
                if "error" in said:
                    raise Refused(f"Ollama cannot pull {model}: {said['error']}", _remedy(model))
                is_done = is_done or said.get("status") == "success"
                _count(sizes, said, shown)
    except urllib.request.HTTPError as error:
        with error:
            why = _step(error.read(LINE_MAX_BYTES)).get("error", f"it answers {error.code}")
        raise Refused(f"Ollama cannot pull {model}: {why}", _remedy(model)) from error
    except (OSError, HTTPException) as error:
        raise Refused(
            f"Ollama at {url} went away while it pulled {model}", "run this again: it goes on"
        ) from error
    if not is_done:
        raise Refused(f"Ollama ended before it had {model}", "run this again: it goes on")


def _count(sizes: dict[str, tuple[int, int]], said: Mapping[str, object], shown: Shown) -> None:
    """Add up the layers: the first is nearly all of a model, the rest are small."""
    digest, total, done = said.get("digest"), said.get("total"), said.get("completed", 0)
    if isinstance(digest, str) and isinstance(total, int) and isinstance(done, int):
        sizes[digest] = (done, total)
        shown(sum(one for one, _ in sizes.values()), sum(one for _, one in sizes.values()))


def _step(line: bytes) -> Mapping[str, object]:
    try:
        said = from_json(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _remedy(model: str) -> str:
    return f"look the name up, or pull it yourself: ollama pull {model}"
