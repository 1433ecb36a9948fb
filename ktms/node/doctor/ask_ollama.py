"""What only Ollama tells: stubs for clouds, sizes, Modelfiles, and with what it was started.

Only pages that change nothing are asked for. Not here: what any engine tells (`ask_engine.py`).
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

import aiohttp

from ktms.domain.capacity.serving import same_model
from ktms.node.doctor.facts import EngineFacts, OnDisk, ServedModel
from ktms.node.engines.http import EngineAway, EngineHttp
from ktms.node.engines.ollama_pages import Loaded, Shown, Tag, chats, read_ps, read_show, read_tags
from ktms.node.engines.ollama_process import gpu_bytes, look_at_processes
from ktms.node.engines.told import entries, name, number, words
from ktms.node.filter.own_models import is_cloud
from ktms.node.machine import Machine

SHOW_S = 2.0
SHOWS_MAX = 16
"""Models read in detail; more are not served by one machine in earnest."""

SIZE_MAX = 1 << 50
"""More bytes are a mistake."""


async def ask_ollama(facts: EngineFacts, machine: Machine, session: aiohttp.ClientSession) -> EngineFacts:
    """Add what its pages and processes tell."""
    http = EngineHttp(facts.url, session)
    listed, ps = await asyncio.gather(http.said("/api/tags"), http.said("/api/ps"))
    tags, loaded = read_tags(listed), read_ps(ps)
    shows = dict(
        zip(
            (model.name for model in facts.models[:SHOWS_MAX]),
            await asyncio.gather(*(_shown(http, model.name) for model in facts.models[:SHOWS_MAX])),
            strict=True,
        )
    )
    process = await asyncio.to_thread(look_at_processes, machine, facts.port.number)
    memory = await asyncio.to_thread(gpu_bytes, machine)
    models = tuple(_in_full(model, shows.get(model.name, Shown()), tags, loaded) for model in facts.models)
    serving = replace(process.serving, gpu_bytes=memory)
    return replace(facts, models=models, disk=tuple(_on_disk(listed, tags)), serving=serving)


def _in_full(model: ServedModel, shown: Shown, tags: Sequence[Tag], loaded: Sequence[Loaded]) -> ServedModel:
    place = next((one for one in loaded if same_model(one.name, model.name)), None)
    tag = next((one for one in tags if one.name == model.name), None)
    return replace(
        model,
        is_loading=place is not None and model.loaded is False,
        in_memory=None if place is None else place.window,
        modelfile=shown.num_ctx,
        trained=shown.trained or (None if tag is None else tag.trained),
    )


async def _shown(http: EngineHttp, model: str) -> Shown:
    try:
        page = await http.post("/api/show", {"model": model}, within_s=SHOW_S)
    except EngineAway:
        return Shown()
    return read_show(page.value) if page.status == 200 else Shown()


def _on_disk(listed: object, tags: Sequence[Tag]) -> Iterator[OnDisk]:
    """Read all that Ollama lists, stubs for clouds among them."""
    known = {tag.name: tag for tag in tags}
    for entry in entries(listed, "models"):
        found = name(entry.get("name"))
        if found is None:
            continue
        host, tag = entry.get("remote_host"), known.get(found)
        remote = host if isinstance(host, str) and host else None
        if remote is None and (entry.get("remote_model") or is_cloud(found)):
            remote = "its maker's cloud"
        yield OnDisk(
            found,
            number(entry.get("size"), 1, SIZE_MAX),
            remote,
            can_chat=chats(words(entry.get("capabilities"))),
            is_alone=tag is not None and tag.is_alone,
        )
