"""Hugging Face's TGI: one model, in memory as long as it runs, and a promise of slots that is far too high.

It takes 128 calls at once and lets most of them wait inside, so the batches that it really makes are remembered.
Not here: its load metrics (`ktms.domain.capacity.engine_metrics`).
"""

import asyncio

import aiohttp

from ktms.domain.capacity.engine_metrics import EngineLoad, read_engine_metrics
from ktms.domain.catalogue import EngineKind
from ktms.node.engines.http import EngineAway, EngineHttp
from ktms.node.engines.look import WARM_S, NotWarm, in_time
from ktms.node.engines.pace import Pace, total
from ktms.node.engines.told import members, name, slots, version, window
from ktms.node.machine import Machine
from ktms.node.state import EngineState, ModelState

BATCH_USUAL = 16
"""What is believed until a batch was seen: it computes so many together without each getting slow."""

_PER_TOKEN = b"tgi_request_mean_time_per_token_duration"


class Batches:
    """The batches seen since the start of the agent."""

    def __init__(self) -> None:
        self._largest = self._full = 0

    def hear(self, load: EngineLoad) -> None:
        """Take in what runs and what waits."""
        running = load.running or 0
        self._largest = max(self._largest, running)
        if load.waiting:
            self._full = max(self._full, running)

    def slots(self, promised: int | None) -> int | None:
        """Give what it serves at once: a batch that let others wait, else what it usually is or has been."""
        if promised is None:
            return None
        return min(promised, self._full or max(self._largest, BATCH_USUAL))


class Tgi:
    """The engine at a URL. Its machine could tell nothing that its pages do not."""

    kind = EngineKind.TGI
    is_settling = False

    def __init__(self, url: str, session: aiohttp.ClientSession, machine: Machine | None = None) -> None:
        del machine
        self._http = EngineHttp(url, session)
        self._batches = Batches()
        self._pace = Pace(least=1)

    async def look(self) -> EngineState:
        """Look once."""
        return await in_time(self.kind, self._look())

    async def warm(self, model: str) -> None:  # noqa: ARG002 - it has one
        """Have one token generated, by the route that needs no chat template.

        Raises:
            NotWarm: it did not come.
        """
        body = {"inputs": "Hi", "parameters": {"max_new_tokens": 1}}
        try:
            page = await self._http.post("/generate", body, within_s=WARM_S)
        except EngineAway as error:
            raise NotWarm(f"TGI: {error}") from error
        if page.status != 200 or not isinstance(members(page.value).get("generated_text"), str):
            raise NotWarm(f"TGI answered {page.status} without a token")

    async def _look(self) -> EngineState:
        info_page, health, metrics = await asyncio.gather(
            self._http.said("/info"), self._http.page("/health"), self._http.page("/metrics")
        )
        info = members(info_page)
        if "model_id" not in info or "max_concurrent_requests" not in info:
            return EngineState(self.kind)
        text = metrics.body if metrics is not None and metrics.status == 200 else b""
        load = read_engine_metrics(text)
        self._batches.hear(load)
        count, seconds = total(text, _PER_TOKEN + b"_count"), total(text, _PER_TOKEN + b"_sum")
        speed = self._pace.hear(count, seconds)
        called, is_up = name(info["model_id"]), health is None or health.status == 200
        tokens = window(info.get("max_total_tokens"))
        model = None if called is None else ModelState(called, tokens, loaded=is_up, tokens_per_s=speed)
        return EngineState(
            self.kind,
            answers=True,
            version=version(info.get("version")),
            slots=self._batches.slots(slots(info["max_concurrent_requests"])),
            busy=load.calls,
            models=() if model is None else (model,),
        )
