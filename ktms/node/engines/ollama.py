"""Ollama: many models, those in memory each served by a child process that tells what Ollama does not.

Rules: a model that `/api/ps` lists may still be loading; it is warm when its child says so, or when it has
finished a call since: only then the date of its end stands still. Slots are those of the child, never more than
Ollama serves at once, for it queues the rest inside without bound (N19). A look changes nothing.
Not here: what pages and processes say (`ollama_pages.py`, `ollama_process.py`, `ollama_window.py`).
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import aiohttp

from ktms.domain.announcement import SLOTS_MAX
from ktms.domain.capacity.serving import same_model
from ktms.domain.catalogue import EngineKind
from ktms.node.engines.http import EngineAway, EngineHttp, Page
from ktms.node.engines.llama_slots import LlamaSlots
from ktms.node.engines.look import WARM_S, NotWarm, in_time
from ktms.node.engines.ollama_pages import Loaded, Shown, Tag, chats, loaded_as, read_ps, read_show, read_tags
from ktms.node.engines.ollama_process import Child, OllamaProcess, gpu_bytes, look_at_processes
from ktms.node.engines.ollama_window import Serving, window_of
from ktms.node.engines.told import BUSY_MAX, members, number, version
from ktms.node.filter.own_models import is_cloud
from ktms.node.machine import Machine
from ktms.node.state import EngineState, ModelState

SHOWS_MAX = 16
"""Models read in detail per look: each costs the engine some milliseconds, and all together must fit its time."""

UNSHOWN_MAX = 3
"""So often a model is asked for in vain; then it is offered all the same, without its details."""

CHILD_S = 0.8
"""A child answers at once or is busy with a prompt."""

TOKEN_S = 120.0
"""One token of a model in memory; the gateway waits as long."""

HELLO = [{"role": "user", "content": "Hi"}]

_UNREAD = -1
"""Stands for the memory of GPUs before it was asked for, which is done once: it does not change."""

_Key = tuple[tuple[str, str, int | None], ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A model, whether it has a place in memory, and the process that serves it where that is known."""

    tag: Tag
    in_memory: bool = False
    child: Child | None = None


class Ollama:
    """The engine at a URL; `machine` None: its processes cannot be looked at."""

    kind = EngineKind.OLLAMA

    def __init__(self, url: str, session: aiohttp.ClientSession, machine: Machine | None = None) -> None:
        self._http = EngineHttp(url, session)
        self._session = session
        self._port = urlsplit(url).port
        self._machine = machine
        self._process = OllamaProcess()
        self._read_for: _Key | None = None
        self._gpu_bytes: int | None = _UNREAD
        self._loaded: tuple[Loaded, ...] = ()
        self._shown: dict[str, Shown] = {}
        self._unshown: Counter[str] = Counter()
        self._ready: frozenset[str] = frozenset()
        self._slots: dict[int, LlamaSlots] = {}
        self.is_settling = False

    async def look(self) -> EngineState:
        """Look once."""
        return await in_time(self.kind, self._look())

    async def warm(self, model: str) -> None:
        """Load the model to stay, then have it say one token just as a call through the gateway would.

        Raises:
            NotWarm: it did not.
        """
        if is_cloud(model):
            raise NotWarm(f"{model} is not on this machine")
        load = {"model": model, "keep_alive": -1, "stream": False}
        await self._posted("/api/generate", load, WARM_S)
        ask = {"model": model, "messages": HELLO, "max_tokens": 1, "stream": False}
        answer = members((await self._posted("/v1/chat/completions", ask, TOKEN_S)).value)
        told = answer.get("model")
        if isinstance(told, str) and not same_model(model, told):
            raise NotWarm("Ollama answered with another model")
        if not number(members(answer.get("usage")).get("completion_tokens"), 1, BUSY_MAX):
            raise NotWarm("Ollama answered without a token")

    async def _posted(self, path: str, body: Mapping[str, object], within_s: float) -> Page:
        try:
            page = await self._http.post(path, body, within_s=within_s)
        except EngineAway as error:
            raise NotWarm(f"Ollama: {error}") from error
        if page.status != 200:
            raise NotWarm(f"Ollama refused with {page.status}")
        return page

    async def _look(self) -> EngineState:
        said = self._http.said
        versions, listed, ps = await asyncio.gather(said("/api/version"), said("/api/tags"), said("/api/ps"))
        told = version(members(versions).get("version"))
        if told is None or "models" not in members(listed):
            self._read_for = None
            return EngineState(self.kind)
        was_settling, before = self.is_settling, self._loaded
        if ps is not None:
            self._loaded = read_ps(ps)
        tags = read_tags(listed)
        await asyncio.gather(self._read_shows(tags), self._read_processes(again=was_settling))
        tags = tuple(tag for tag in map(self._in_full, tags) if tag.able is not None and chats(tag.able))
        ready = self._ready = self._ready if ps is None else await self._read_ready(before)
        models = tuple(self._model(tag, ready) for tag in tags)
        busy = [slots.busy for slots in self._slots.values() if slots.busy is not None]
        return EngineState(
            self.kind,
            answers=True,
            version=told,
            slots=slots_of(map(self._placed, tags), self._process.serving),
            busy=sum(busy) if busy else None,
            models=models,
        )

    async def _read_shows(self, tags: tuple[Tag, ...]) -> None:
        """Read in detail what was not read yet, models in memory first."""
        self._shown = {_key(tag): self._shown[_key(tag)] for tag in tags if _key(tag) in self._shown}
        unread = [tag for tag in tags if _key(tag) not in self._shown]
        unread.sort(key=lambda tag: loaded_as(tag, self._loaded) is None)
        await asyncio.gather(*(self._read_show(tag) for tag in unread[:SHOWS_MAX]))
        self.is_settling = any(_key(tag) not in self._shown for tag in tags)

    async def _read_show(self, tag: Tag) -> None:
        try:
            page = await self._http.post("/api/show", {"model": tag.name}, within_s=CHILD_S)
        except EngineAway:
            self._unshown[_key(tag)] += 1
            if self._unshown[_key(tag)] >= UNSHOWN_MAX:
                self._shown[_key(tag)] = Shown()
            return
        self._shown[_key(tag)] = read_show(page.value if page.status == 200 else None)

    async def _read_processes(self, *, again: bool) -> None:
        """Look at processes when something else is in memory than before, or was not there yet (`again`)."""
        machine, now = self._machine, tuple((one.name, one.digest, one.window) for one in self._loaded)
        if machine is None:
            return
        if self._gpu_bytes == _UNREAD:
            self._gpu_bytes = await asyncio.to_thread(gpu_bytes, machine)
        if now != self._read_for or (again and len(self._process.children) < len(now)):
            found = await asyncio.to_thread(look_at_processes, machine, self._port)
            self._process = replace(found, serving=replace(found.serving, gpu_bytes=self._gpu_bytes))
            self._read_for = now

    async def _read_ready(self, before: tuple[Loaded, ...]) -> frozenset[str]:
        """Give the names of the models in memory that answer, not only load."""
        ports = {child.port for one in self._loaded if (child := self._child(one)) and child.port}
        self._slots = {port: self._slots.get(port) or LlamaSlots() for port in ports}
        told = dict(zip(ports, await asyncio.gather(*map(self._read_child, ports)), strict=True))
        if not all(told.values()):
            self._read_for = None  # it still loads, or another one serves its model by now
        ready = {one.name for one in self._loaded if (child := self._child(one)) and told.get(child.port or 0)}
        ready |= _standing(before, self._loaded)
        if any(one.name not in ready for one in self._loaded):
            again = read_ps(await self._http.said("/api/ps", within_s=CHILD_S))
            ready |= _standing(self._loaded, again)
        self.is_settling |= any(one.name not in ready for one in self._loaded)
        return frozenset(ready)

    async def _read_child(self, port: int) -> bool:
        """Read a child's slots; whether it has its weights in memory."""
        child = EngineHttp(f"http://127.0.0.1:{port}", self._session)
        health = await child.page("/health", within_s=CHILD_S)
        if health is None or health.status != 200:
            self._slots[port].hear(None, 0.0)
            return False
        self._slots[port].hear(await child.said("/slots", within_s=CHILD_S), asyncio.get_running_loop().time())
        return True

    def _in_full(self, tag: Tag) -> Tag:
        """Add what was read in detail; what could not be read yet stays without a word on what it can do."""
        shown = self._shown.get(_key(tag))
        if shown is None:
            return tag
        able = tag.able if tag.able is not None else shown.able
        return replace(tag, able=() if able is None else able, trained=shown.trained or tag.trained)

    def _placed(self, tag: Tag) -> Placed:
        one = loaded_as(tag, self._loaded)
        return Placed(tag, one is not None, None if one is None else self._child(one))

    def _child(self, one: Loaded) -> Child | None:
        """Find the process that serves a model: by its weights, or for being the only one."""
        shown = self._shown.get(one.digest or one.name)
        found = [child for child in self._process.children if shown and child.blob and child.blob == shown.blob]
        is_only = len(self._process.children) == len(self._loaded) == 1
        return next(iter(found), self._process.children[0] if is_only else None)

    def _model(self, tag: Tag, ready: frozenset[str]) -> ModelState:
        one, shown = loaded_as(tag, self._loaded), self._shown.get(_key(tag), Shown())
        decided = window_of(
            loaded=None if one is None else one.window,
            modelfile=shown.num_ctx,
            serving=self._process.serving,
            trained=tag.trained,
        )
        tokens = None if decided is None else decided.tokens
        if one is None or one.name not in ready:
            return ModelState(tag.name, tokens, loaded=False)
        child = self._child(one)
        slots = None if child is None else self._slots.get(child.port or 0)
        speed = None if slots is None else slots.tokens_per_s
        return ModelState(tag.name, tokens, loaded=True, on_gpu=one.on_gpu, tokens_per_s=speed)


def slots_of(models: Iterable[Placed], serving: Serving) -> int | None:
    """Give how many calls each of the models in memory serves at once, or those on the disk if none is.

    The least of them, since a node has one number for all; None as soon as one is not known.
    """
    every = list(models)
    in_memory = [one for one in every if one.in_memory]
    counts = [_slots(one, serving) for one in in_memory or every]
    known = [count for count in counts if count is not None]
    return min(known) if known and len(known) == len(counts) else None


def _slots(model: Placed, serving: Serving) -> int | None:
    if model.child is not None and model.child.slots:
        return min(model.child.slots, SLOTS_MAX)
    if model.tag.is_alone:
        return 1
    return None if serving.parallel is None else min(max(1, serving.parallel), SLOTS_MAX)


def _standing(before: Iterable[Loaded], now: Iterable[Loaded]) -> set[str]:
    """Give the models whose end stands still; before a first call has ended it is told anew with each look."""
    ends = {one.name: one.expires_at for one in before}
    return {one.name for one in now if one.expires_at and ends.get(one.name) == one.expires_at}


def _key(tag: Tag) -> str:
    return tag.digest or tag.name
