"""Which engines answer on this machine, asked with the standard library alone.

The agent has the same marks in `engines/found.py`; this runs before it is installed. Only loopback is asked, never
through a proxy, and nothing is asked for that an engine would have to load. Not here: which one is taken
(`engine_choice.py`).
"""

import socket
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import urlsplit

from ktms.domain.catalogue import EngineKind
from ktms.node.plain_json import from_json

HOST = "127.0.0.1"

PORTS = (11434, 8000, 8080, *range(8081, 8090), 3000, 9931)
"""As in `engines/found.py`; a test compares them."""

URLS = tuple(f"http://{HOST}:{one}" for one in PORTS)

ASK_S = 2.0
"""An engine on this machine answers such pages in milliseconds."""

PAGE_MAX_BYTES = 4_000_000
"""A list of models is some kilobytes; what is longer is no engine's."""

MODELS_MAX = 1024
"""More than any engine has."""

_LOADING = "Loading model"


@dataclass(frozen=True, slots=True)
class EngineHere:
    """An engine that answers. `models`: what it lists now, by its own names."""

    kind: EngineKind
    url: str
    version: str | None = None
    models: tuple[str, ...] = ()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)


def find_engines(urls: Iterable[str] = URLS) -> tuple[EngineHere, ...]:
    """Look at each place; what was found comes in their order."""
    return tuple(found for url in urls if listens(url) and (found := engine_at(url)) is not None)


def listens(url: str) -> bool:
    """Whether anybody takes connections there."""
    place = urlsplit(url)
    try:
        with socket.create_connection((place.hostname or HOST, place.port or 80), ASK_S):
            return True
    except OSError:
        return False


def engine_at(url: str) -> EngineHere | None:
    """Tell which engine answers at a URL; None where it is none that we know."""
    return next((found for look in (_llamacpp, _ollama, _tgi, _vllm) if (found := look(url)) is not None), None)


def _llamacpp(url: str) -> EngineHere | None:
    props, error = _page(url, "/props"), _page(url, "/health").get("error")
    is_loading = isinstance(error, dict) and error.get("message") == _LOADING
    if not is_loading and not {"build_info", "total_slots"} & props.keys():
        return None
    listed = _names(_page(url, "/v1/models"), "data", "id")
    return EngineHere(EngineKind.LLAMACPP, url, _text(props.get("build_info")), listed)


def _ollama(url: str) -> EngineHere | None:
    version, tags = _text(_page(url, "/api/version").get("version")), _page(url, "/api/tags")
    if version is None or "models" not in tags:
        return None
    return EngineHere(EngineKind.OLLAMA, url, version, _names(tags, "models", "name"))


def _tgi(url: str) -> EngineHere | None:
    info = _page(url, "/info")
    if not {"model_id", "max_concurrent_requests"} <= info.keys():
        return None
    model = _text(info["model_id"])
    return EngineHere(EngineKind.TGI, url, _text(info.get("version")), () if model is None else (model,))


def _vllm(url: str) -> EngineHere | None:
    version, listed = _text(_page(url, "/version").get("version")), _page(url, "/v1/models")
    if version is None or not any(card.get("owned_by") == "vllm" for card in _entries(listed, "data")):
        return None
    return EngineHere(EngineKind.VLLM, url, version, _names(listed, "data", "id"))


def _page(url: str, path: str) -> Mapping[str, object]:
    """Give the members of a page, of one that says an error as well; empty where it is none."""
    try:
        with _OPENER.open(url + path, timeout=ASK_S) as answer:
            body = answer.read(PAGE_MAX_BYTES)
    except urllib.request.HTTPError as error:
        with error:
            body = error.read(PAGE_MAX_BYTES) if error.code == 503 else b""
    except (OSError, HTTPException, ValueError):
        return {}
    try:
        said = from_json(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _entries(page: Mapping[str, object], listing: str) -> Iterator[Mapping[str, object]]:
    found = page.get(listing)
    if isinstance(found, list):
        yield from (entry for entry in found[:MODELS_MAX] if isinstance(entry, dict))


def _names(page: Mapping[str, object], listing: str, member: str) -> tuple[str, ...]:
    return tuple(name for entry in _entries(page, listing) if (name := _text(entry.get(member))) is not None)


def _text(found: object) -> str | None:
    return found if isinstance(found, str) and found and found.isprintable() else None
