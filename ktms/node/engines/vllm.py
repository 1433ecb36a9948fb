"""vLLM: what it serves is in memory as long as it runs, in a cache that decides how many calls are useful at once.

Rules: `/health` and `/v1/models` prove nothing about generation (N13), so they are read for facts alone; metrics
of several engines behind one port are summed, names before and after they were changed are both read, what is
absent is not known (N09, N12). Not here: its load metrics (`ktms.domain.capacity.engine_metrics`).
"""

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp

from ktms.domain.announcement import MODELS_MAX
from ktms.domain.capacity.engine_metrics import read_engine_metrics
from ktms.domain.catalogue import EngineKind
from ktms.node.engines.http import EngineAway, EngineHttp
from ktms.node.engines.look import WARM_S, NotWarm, in_time
from ktms.node.engines.pace import Pace, total
from ktms.node.engines.processes import Process, listening_at, processes
from ktms.node.engines.told import BUSY_MAX, entries, members, name, number, slots, version, window
from ktms.node.machine import Machine
from ktms.node.state import EngineState, ModelState

CONTEXT_TYPICAL_TOKENS = 4096
"""What a call is taken to need of the cache of keys and values."""

SLOTS_UNASKED_MAX = 64
"""Where nobody said how many: it takes more, but each gets slower than a cloud."""

USUAL_PORT = 8000

SERIES_MAX = 64
"""Engines behind one port; more are a mistake."""

_CACHE = re.compile(rb"^vllm:cache_config_info\{([^}\n]{0,4096})\}", re.MULTILINE)
_CACHE_LABEL = re.compile(rb'\b(block_size|num_gpu_blocks)="(\d{1,12})"')
_GAPS = (b"vllm:inter_token_latency_seconds", b"vllm:time_per_output_token_seconds")
"""The time between two tokens of one answer, by its newer name first."""

_POOLING = frozenset({"embed", "embedding", "classify", "score", "reward", "pooling", "transcription"})


class Vllm:
    """The engine at a URL; `machine` None: its command line cannot be read."""

    kind = EngineKind.VLLM
    is_settling = False

    def __init__(self, url: str, session: aiohttp.ClientSession, machine: Machine | None = None) -> None:
        self._http = EngineHttp(url, session)
        self._port = urlsplit(url).port
        self._machine = machine
        self._process: Process | None = None
        self._is_read = False
        self._pace = Pace()

    async def look(self) -> EngineState:
        """Look once."""
        return await in_time(self.kind, self._look())

    async def warm(self, model: str) -> None:
        """Have one token generated, by the route that needs no chat template.

        Raises:
            NotWarm: it did not come.
        """
        body = {"model": model, "prompt": "Hi", "max_tokens": 1}
        try:
            page = await self._http.post("/v1/completions", body, within_s=WARM_S)
        except EngineAway as error:
            raise NotWarm(f"vLLM: {error}") from error
        usage = members(members(page.value).get("usage"))
        if page.status != 200 or not number(usage.get("completion_tokens"), 1, BUSY_MAX):
            raise NotWarm(f"vLLM answered {page.status} without a token")

    async def _look(self) -> EngineState:
        versions, listed, metrics = await asyncio.gather(
            self._http.said("/version"), self._http.said("/v1/models"), self._http.page("/metrics")
        )
        told = version(members(versions).get("version"))
        if told is None:
            self._is_read = False
            return EngineState(self.kind)
        await self._read_command_line()
        text = metrics.body if metrics is not None and metrics.status == 200 else b""
        speed = self._pace.hear(*_gaps(text))
        models = [] if embeds_only(self._process) else _models(listed, speed)
        windows = [model.context_window for model in models if model.context_window is not None]
        return EngineState(
            self.kind,
            answers=True,
            version=told,
            slots=slots_of(text, min(windows, default=None), self._process),
            busy=read_engine_metrics(text).calls,
            models=tuple(models),
        )

    async def _read_command_line(self) -> None:
        """Read it once in the life of a server: it was away when another one is there."""
        if self._machine is not None and not self._is_read:
            found = await asyncio.to_thread(processes, self._machine, _is_vllm)
            self._process = listening_at(found, self._port, USUAL_PORT)
            self._is_read = True


def slots_of(metrics: bytes, context: int | None, process: Process | None) -> int | None:
    """Give how many calls are useful at once: as many as it was told to take, as long as its cache holds them."""
    engines = _CACHE.findall(metrics)[:SERIES_MAX]
    tokens = sum(map(_cache_tokens, engines))
    each = None if process is None else process.count("--max-num-seqs", "--max_num_seqs")
    told = None if each is None else each * max(1, len(engines))
    if not tokens:
        return slots(told)
    needed = CONTEXT_TYPICAL_TOKENS if context is None else min(CONTEXT_TYPICAL_TOKENS, context)
    return slots(max(1, min(told or SLOTS_UNASKED_MAX, tokens // needed)))


def embeds_only(process: Process | None) -> bool:
    """Whether it was started to embed or to judge texts, not to write any (N16)."""
    return process is not None and (process.option("--task") in _POOLING or process.option("--runner") in _POOLING)


def _is_vllm(process: Process) -> bool:
    is_command = process.says("serve") and any(word.rpartition("/")[2] == "vllm" for word in process.words[:3])
    return is_command or process.says("vllm.entrypoints.openai.api_server")


def _models(listed: object, speed: float | None) -> list[ModelState]:
    """Read the list; an adapter has the window of the model that it sits on."""
    cards = [card for card in entries(listed, "data") if name(card.get("id"))][:MODELS_MAX]
    windows = {card["id"]: window(card.get("max_model_len")) for card in cards}
    return [ModelState(str(card["id"]), _window(card, windows), loaded=True, tokens_per_s=speed) for card in cards]


def _window(card: Mapping[str, object], windows: Mapping[object, int | None]) -> int | None:
    parent = card.get("parent")
    return windows[card["id"]] or (windows.get(parent) if isinstance(parent, str) else None)


def _cache_tokens(labels: bytes) -> int:
    sizes = {label: int(value) for label, value in _CACHE_LABEL.findall(labels)}
    return sizes.get(b"block_size", 0) * sizes.get(b"num_gpu_blocks", 0)


def _gaps(text: bytes) -> tuple[float | None, float | None]:
    for gap in _GAPS:
        count = total(text, gap + b"_count")
        if count is not None:
            return count, total(text, gap + b"_sum")
    return None, None
