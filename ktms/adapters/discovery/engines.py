"""Tells engines apart by what they answer, and reads slots, models and windows out of it. Pure.

Each engine has one page that no other has (`MARK`), and pages that tell the rest. Facts about the engines' pages:
their own documentation and sources, late 2026. A page that is missing or odd makes a fact unknown, never an error.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ktms.adapters.discovery.found import EngineFacts, EngineModel
from ktms.adapters.discovery.pages import Page, members
from ktms.domain.catalogue import EngineKind

OLLAMA_SLOTS: Final = 1
"""Its default for parallel requests per model; no page tells another setting."""

SLOTS_UNKNOWN: Final = 1
"""An engine that does not tell is trusted with one request at a time."""

VLLM_SLOTS_MAX: Final = 64
TGI_SLOTS_MAX: Final = 16
"""Batching engines accept more than they can serve at a useful speed: they queue inside, where no one sees it."""

CONTEXT_TYPICAL_TOKENS: Final = 4096
"""What a request is taken to need of vLLM's cache when its slots are estimated."""

Pages = Mapping[str, Page]


@dataclass(frozen=True, slots=True)
class Engine:
    """How one engine is known: the page that marks it, the pages that describe it."""

    mark: str
    is_marked: Callable[[Mapping[str, object]], bool]
    pages: tuple[str, ...]
    read: Callable[[Pages], EngineFacts]


def recognise(pages: Pages) -> Engine | None:
    """Tell the engine by its marking page; None when it is none that we know."""
    for engine in ENGINES:
        if engine.is_marked(members(pages.get(engine.mark))):
            return engine
    return None


def _llamacpp(pages: Pages) -> EngineFacts:
    props = members(pages.get("/props"))
    slots = _number(props, "total_slots") or SLOTS_UNKNOWN
    window = _number(_mapping(props, "default_generation_settings"), "n_ctx")
    models = tuple(
        EngineModel(name, _slot_window(window, slots, _number(_mapping(entry, "meta"), "n_ctx_train")))
        for name, entry in _named(pages.get("/v1/models"), "data", "id")
    )
    return EngineFacts(EngineKind.LLAMACPP, slots, models)


def _slot_window(told: int | None, slots: int, trained: int | None) -> int | None:
    """Give the tokens one slot can count on.

    With slots chosen automatically llama.cpp lets all of them share one cache and tells for each slot the whole
    window, which by default is the trained one; used up together, it fails every running answer.
    """
    if told is None or slots == 1 or trained is None or told < trained:
        return told
    return max(1, told // slots)


def _ollama(pages: Pages) -> EngineFacts:
    loaded = {
        name: _number(entry, "context_length") for name, entry in _named(pages.get("/api/ps"), "models", "name")
    }
    models = tuple(
        EngineModel(name, loaded.get(name))
        for name, entry in _named(pages.get("/api/tags"), "models", "name")
        if not _runs_elsewhere(name, entry)
    )
    return EngineFacts(EngineKind.OLLAMA, OLLAMA_SLOTS, models)


def _runs_elsewhere(name: str, entry: Mapping[str, object]) -> bool:
    """Tell a stub that sends requests to a cloud from a model on this machine: a node must not leave the house."""
    return bool(entry.get("remote_host")) or name.endswith((":cloud", "-cloud"))


def _vllm(pages: Pages) -> EngineFacts:
    models = tuple(
        EngineModel(name, _number(entry, "max_model_len"))
        for name, entry in _named(pages.get("/v1/models"), "data", "id")
    )
    windows = [model.window_tokens for model in models if model.window_tokens is not None]
    return EngineFacts(EngineKind.VLLM, _vllm_slots(pages.get("/metrics"), min(windows, default=None)), models)


_CACHE = re.compile(r"^vllm:cache_config_info\{([^}\n]*)\}", re.MULTILINE)
_CACHE_LABEL = re.compile(r'(block_size|num_gpu_blocks)="(\d+)"')


def _vllm_slots(metrics: Page, window: int | None) -> int:
    """Estimate how many typical requests the cache of keys and values holds at once."""
    info = _CACHE.search(metrics or "")
    sizes = dict(_CACHE_LABEL.findall(info[1])) if info else {}
    tokens = int(sizes.get("block_size", 0)) * int(sizes.get("num_gpu_blocks", 0))
    if not tokens:
        return SLOTS_UNKNOWN
    needed = CONTEXT_TYPICAL_TOKENS if window is None else min(CONTEXT_TYPICAL_TOKENS, window)
    return max(1, min(VLLM_SLOTS_MAX, tokens // needed))


def _tgi(pages: Pages) -> EngineFacts:
    info = members(pages.get("/info"))
    slots = min(_number(info, "max_concurrent_requests") or SLOTS_UNKNOWN, TGI_SLOTS_MAX)
    name = info.get("model_id")
    window = _number(info, "max_total_tokens")
    models = (EngineModel(name, window),) if isinstance(name, str) else ()
    return EngineFacts(EngineKind.TGI, slots, models)


def _number(mapping: Mapping[str, object], member: str) -> int | None:
    value = mapping.get(member)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _mapping(mapping: Mapping[str, object], member: str) -> Mapping[str, object]:
    value = mapping.get(member)
    return value if isinstance(value, dict) else {}


def _named(page: Page, listing: str, name: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    entries = members(page).get(listing)
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get(name), str):
            yield entry[name], entry


ENGINES: Final = (
    Engine("/props", lambda page: "build_info" in page or "total_slots" in page, ("/v1/models",), _llamacpp),
    Engine("/api/version", lambda page: "version" in page, ("/api/tags", "/api/ps"), _ollama),
    Engine("/info", lambda page: "model_id" in page and "max_concurrent_requests" in page, (), _tgi),
    Engine("/version", lambda page: "version" in page, ("/v1/models", "/metrics"), _vllm),
)
"""In this order: a later mark is less particular than an earlier one."""
