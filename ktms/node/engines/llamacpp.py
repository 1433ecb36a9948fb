"""llama.cpp's server: one model with slots, or a router with a server for each model.

Rules: a look uses only pages that neither wake a sleeping server nor put off its sleep, and never has a router
load anything; `/health` 200 says that weights are in memory, not that it generates (N13). Not here: its command
line (`llamacpp_options.py`), the page of slots (`llama_slots.py`).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import aiohttp

from ktms.domain.announcement import MODELS_MAX
from ktms.domain.capacity.engine_metrics import read_engine_metrics
from ktms.domain.capacity.serving import same_model
from ktms.domain.catalogue import EngineKind
from ktms.node.engines.http import EngineAway, EngineHttp, Page
from ktms.node.engines.llama_slots import LlamaSlots
from ktms.node.engines.llamacpp_options import gpu_share, server_process, window_per_slot
from ktms.node.engines.look import WARM_S, NotWarm, in_time
from ktms.node.engines.pace import Pace, total
from ktms.node.engines.processes import Process
from ktms.node.engines.told import BUSY_MAX, entries, members, name, number, slots, version, window, words
from ktms.node.machine import Machine
from ktms.node.state import EngineState, ModelState

LOADED_MAX = 8
"""Models of a router that are looked into; by itself it keeps 4 in memory."""

_UNREAD = -1
"""Stands for no number of slots: the command line was not read yet, or may be another's."""

_TOKENS = b"llamacpp:tokens_predicted_total"
_SECONDS = b"llamacpp:tokens_predicted_seconds_total"


class _Memory:
    """What is remembered of one model from one look to the next."""

    def __init__(self) -> None:
        self.slots, self.pace = LlamaSlots(), Pace()


@dataclass(frozen=True, slots=True)
class _Inside:
    """One model in memory. `busy` counts what waits too, where that is told."""

    slots: int | None
    window: int | None
    busy: int | None
    tokens_per_s: float | None


class LlamaCpp:
    """The engine at a URL; `machine` None: its command line cannot be read."""

    kind = EngineKind.LLAMACPP

    def __init__(self, url: str, session: aiohttp.ClientSession, machine: Machine | None = None) -> None:
        self._http = EngineHttp(url, session)
        self._port = urlsplit(url).port
        self._machine = machine
        self._process: Process | None = None
        self._read_for: int | None = _UNREAD
        self._memories: dict[str, _Memory] = {}
        self.is_settling = False

    async def look(self) -> EngineState:
        """Look once."""
        return await in_time(self.kind, self._look())

    async def warm(self, model: str) -> None:
        """Have one token generated; a router loads the model for it.

        Raises:
            NotWarm: it did not come.
        """
        try:
            answer = await self._http.post(
                "/completion", {"model": model, "prompt": "Hi", "n_predict": 1}, within_s=WARM_S
            )
        except EngineAway as error:
            raise NotWarm(f"llama.cpp: {error}") from error
        said = members(answer.value)
        if answer.status != 200 or not number(said.get("tokens_predicted"), 1, BUSY_MAX):
            raise NotWarm(f"llama.cpp answered {answer.status} without a token")
        told = said.get("model")
        if isinstance(told, str) and not same_model(model, told):  # it does not look at the name (N27)
            raise NotWarm("llama.cpp serves another model")

    async def _look(self) -> EngineState:
        health, props_page, listed = await asyncio.gather(
            self._http.page("/health"), self._http.page("/props"), self._http.said("/v1/models")
        )
        props = members(props_page.value) if props_page is not None and props_page.status == 200 else {}
        self.is_settling = health is not None and is_loading_page(health)
        if not self.is_settling and not {"build_info", "total_slots"} & props.keys():
            self._read_for = _UNREAD
            return EngineState(self.kind)
        cards = [card for card in entries(listed, "data") if name(card.get("id"))][:MODELS_MAX]
        told = version(props.get("build_info"))
        if self.is_settling:
            return EngineState(self.kind, answers=True, version=told, models=tuple(map(_cold, cards)))
        if props.get("role") == "router":
            return await self._router(cards, told)
        return await self._single(listed, cards, props, told)

    async def _single(
        self, listed: object, cards: list[dict[str, object]], props: Mapping[str, object], told: str | None
    ) -> EngineState:
        embeds_only = any(not speaks(entry) for entry in entries(listed, "models"))
        if embeds_only or not cards:
            return EngineState(self.kind, answers=True, version=told)
        is_sleeping = props.get("is_sleeping") is True
        inside = await self._inside("", props, is_sleeping=is_sleeping)
        model = ModelState(
            str(cards[0]["id"]),
            window_per_slot(inside.window, inside.slots, self._process),
            loaded=not is_sleeping,
            on_gpu=gpu_share(self._process),
            tokens_per_s=inside.tokens_per_s,
        )
        return EngineState(
            self.kind, answers=True, version=told, slots=inside.slots, busy=inside.busy, models=(model,)
        )

    async def _router(self, cards: list[dict[str, object]], told: str | None) -> EngineState:
        """Look into the models that are in memory; without `autoload` off, a question would load one."""
        cards = [card for card in cards if speaks(card)]
        self.is_settling = any(status_of(card) == "loading" for card in cards)
        ids = [str(card["id"]) for card in cards if status_of(card) == "loaded"][:LOADED_MAX]
        self._memories = {query: kept for query, kept in self._memories.items() if query in map(_query, ids)}
        insides = dict(zip(ids, await asyncio.gather(*map(self._routed, ids)), strict=True))
        models = []
        for card in cards:
            inside = insides.get(str(card["id"]))
            if inside is None:
                models.append(_cold(card))
                continue
            usable = window_per_slot(inside.window, inside.slots, None)
            models.append(ModelState(str(card["id"]), usable, loaded=True, tokens_per_s=inside.tokens_per_s))
        counts = [inside.slots for inside in insides.values()]
        busy = [inside.busy for inside in insides.values() if inside.busy is not None]
        return EngineState(
            self.kind,
            answers=True,
            version=told,
            slots=None if None in counts else min((one for one in counts if one is not None), default=None),
            busy=sum(busy) if busy else None,
            models=tuple(models),
        )

    async def _routed(self, model: str) -> _Inside:
        query = _query(model)
        return await self._inside(query, members(await self._http.said("/props" + query)))

    async def _inside(self, query: str, props: Mapping[str, object], *, is_sleeping: bool = False) -> _Inside:
        memory = self._memories.setdefault(query, _Memory())
        count = slots(props.get("total_slots"))
        if not query:
            await self._read_command_line(count)
        metrics = await self._http.page("/metrics" + query)
        text = metrics.body if metrics is not None and metrics.status == 200 else b""
        speed = memory.pace.hear(total(text, _TOKENS), total(text, _SECONDS))
        busy = read_engine_metrics(text).calls
        if busy is None and not is_sleeping:  # this page might wake it
            memory.slots.hear(await self._http.said("/slots" + query), asyncio.get_running_loop().time())
            busy, speed = memory.slots.busy, speed or memory.slots.tokens_per_s
        told = window(members(props.get("default_generation_settings")).get("n_ctx"))
        return _Inside(count, told, busy, speed)

    async def _read_command_line(self, count: int | None) -> None:
        """Read it again after the server was away, or when the number of slots is another."""
        if self._machine is not None and count != self._read_for:
            self._process = await asyncio.to_thread(server_process, self._machine, self._port)
            self._read_for = count


def is_loading_page(page: Page) -> bool:
    """Whether it says, as llama.cpp does, that weights are on their way into memory."""
    return page.status == 503 and page.error.get("type") == "unavailable_error"


def speaks(entry: Mapping[str, object]) -> bool:
    """Whether a model generates text, as far as that is told; one that only embeds is not for chats (N16)."""
    able = words(entry.get("capabilities"))
    if able:
        return "completion" in able
    gives = words(members(entry.get("architecture")).get("output_modalities"))
    return not gives or "text" in gives


def status_of(card: Mapping[str, object]) -> str | None:
    """Give a router's word for the state of a model: an object in newer builds."""
    status = card.get("status")
    word = members(status).get("value", status)
    return word if isinstance(word, str) else None


def _query(model: str) -> str:
    return f"?model={quote(model, safe='')}&autoload=false"


def _cold(card: Mapping[str, object]) -> ModelState:
    return ModelState(str(card["id"]), loaded=False)
