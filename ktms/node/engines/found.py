"""Which engine answers at which port of this machine: what runs is adopted, never replaced.

Rules: engines are told apart by pages that no other has, since ports are anybody's; 4xx and silence mean another
one. Nothing is asked for that an engine would have to load. Not here: what is then known of it (its own file).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import aiohttp

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.http import EngineHttp
from ktms.node.engines.llamacpp import is_loading_page
from ktms.node.engines.told import entries, members, name, version

HOST = "127.0.0.1"

PORTS = (11434, 8000, 8080, *range(8081, 8090), 3000, 9931)
"""Ollama; vLLM; llama.cpp and TGI, the first ports tried after it, and the default of TGI in containers and of the
newest llama.cpp."""

MARK_S = 1.0
"""An engine on this machine answers such pages in milliseconds."""

_LOADING = "Loading model"


@dataclass(frozen=True, slots=True)
class Found:
    """An engine that answers. `models`: what it lists now."""

    kind: EngineKind
    url: str
    version: str | None = None
    models: tuple[str, ...] = ()


async def find_engines(session: aiohttp.ClientSession, ports: Sequence[int] = PORTS) -> tuple[Found, ...]:
    """Look at all ports at once; what was found comes in their order."""
    looks = await asyncio.gather(*(found_at(f"http://{HOST}:{port}", session) for port in ports))
    return tuple(found for found in looks if found is not None)


async def found_at(url: str, session: aiohttp.ClientSession) -> Found | None:
    """Tell which engine answers at a URL; None where it is none that we know."""
    http = EngineHttp(url, session)
    looks = await asyncio.gather(*(look(http) for look in _LOOKS))
    return next((found for found in looks if found is not None), None)


async def _llamacpp(http: EngineHttp) -> Found | None:
    page = await http.page("/props", within_s=MARK_S)
    if page is None:
        return None
    props = members(page.value) if page.status == 200 else {}
    is_loading = is_loading_page(page) and page.error.get("message") == _LOADING
    if not is_loading and not {"build_info", "total_slots"} & props.keys():
        return None
    listed = await http.said("/v1/models", within_s=MARK_S)
    return Found(EngineKind.LLAMACPP, http.url, version(props.get("build_info")), _names(listed, "data", "id"))


async def _ollama(http: EngineHttp) -> Found | None:
    versions, tags = await _both(http, "/api/version", "/api/tags")
    told = version(members(versions).get("version"))
    if told is None or "models" not in members(tags):
        return None
    return Found(EngineKind.OLLAMA, http.url, told, _names(tags, "models", "name"))


async def _tgi(http: EngineHttp) -> Found | None:
    info = members(await http.said("/info", within_s=MARK_S))
    if not {"model_id", "max_concurrent_requests"} <= info.keys():
        return None
    called = name(info["model_id"])
    return Found(EngineKind.TGI, http.url, version(info.get("version")), () if called is None else (called,))


async def _vllm(http: EngineHttp) -> Found | None:
    versions, listed = await _both(http, "/version", "/v1/models")
    told = version(members(versions).get("version"))
    if told is None or not any(card.get("owned_by") == "vllm" for card in entries(listed, "data")):
        return None
    return Found(EngineKind.VLLM, http.url, told, _names(listed, "data", "id"))


_LOOKS: tuple[Callable[[EngineHttp], Awaitable[Found | None]], ...] = (_llamacpp, _ollama, _tgi, _vllm)


async def _both(http: EngineHttp, one: str, other: str) -> tuple[object, object]:
    return await asyncio.gather(http.said(one, within_s=MARK_S), http.said(other, within_s=MARK_S))


def _names(page: object, listing: str, member: str) -> tuple[str, ...]:
    return tuple(found for entry in entries(page, listing) if (found := name(entry.get(member))) is not None)
