"""A llama.cpp server: one model, or a router with several; it may be loading or asleep.

Quirks: while it loads, all but its list says 503; asking it for its slots, or for a token, wakes it (`woken`); a
router that is asked about a model without `autoload=false` loads it (`autoloads`); metrics must be switched on.
"""

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from sim.fakes.engines.llama_cpp import LlamaCpp as Dialect
from tests.node.fakes.serving import FakeEngine, SimMachine

PATH = "/models/qwen3-4b-q4.gguf"


@dataclass
class LlamaModel:
    """One model. `status` is a router's word for it; `busy` maps slots to (task, tokens so far)."""

    name: str = PATH
    status: str = "loaded"
    slots: int = 4
    window: int = 4096
    busy: dict[int, tuple[int, int]] = field(default_factory=dict)
    able: list[str] | None = field(default_factory=lambda: ["completion"])
    counters: tuple[float, float] = (0, 0)
    waiting: int = 0


class FakeLlamaCpp(FakeEngine):
    """The server."""

    def __init__(self, *models: LlamaModel, router: bool = False) -> None:
        super().__init__()
        self.models = list(models) or [LlamaModel()]
        self.router = router
        self.loading = self.sleeping = self.old_slots = False
        self.metrics = False
        self.woken = self.autoloads = 0

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/health", self._health),
            web.get("/props", self._props),
            web.get("/slots", self._slots),
            web.get("/metrics", self._metrics),
            web.get("/v1/models", self._models),
            web.get("/models", self._models),
            web.post("/completion", self._completion),
            web.post("/v1/chat/completions", self._chat),
        ]

    def _busy_loading(self) -> web.Response | None:
        if not self.loading:
            return None
        error = {"code": 503, "message": "Loading model", "type": "unavailable_error"}
        return web.json_response({"error": error}, status=503)

    def _asked(self, request: web.Request) -> LlamaModel:
        name = request.query.get("model")
        one = next((one for one in self.models if one.name == name), self.models[0])
        if self.router and one.status != "loaded" and request.query.get("autoload") != "false":
            self.autoloads += 1
        return one

    async def _health(self, _: web.Request) -> web.Response:
        return self._busy_loading() or web.json_response({"status": "ok"})

    async def _props(self, request: web.Request) -> web.Response:
        if loading := self._busy_loading():
            return loading
        props: dict[str, Any] = {"build_info": "b7500-3f1a2c9", "is_sleeping": self.sleeping}
        if self.router and "model" not in request.query:
            return web.json_response(props | {"role": "router", "max_instances": 4})
        one = self._asked(request)
        settings = {"n_ctx": one.window, "params": {"temperature": 0.8}}
        return web.json_response(props | {"total_slots": one.slots, "default_generation_settings": settings})

    async def _slots(self, request: web.Request) -> web.Response:
        self._wake()
        one = self._asked(request)
        return self._busy_loading() or web.json_response([self._slot(one, at) for at in range(one.slots)])

    def _slot(self, one: LlamaModel, at: int) -> dict[str, Any]:
        slot: dict[str, Any] = {"id": at, "n_ctx": one.window, "is_processing": at in one.busy}
        if at in one.busy:
            task, tokens = one.busy[at]
            decoded = {"n_decoded": tokens, "has_next_token": True}
            slot |= {"id_task": task, "next_token": decoded if self.old_slots else [decoded]}
        return slot

    async def _metrics(self, request: web.Request) -> web.Response:
        if not self.metrics:
            error = {"code": 501, "message": "no metrics", "type": "not_supported_error"}
            return web.json_response({"error": error}, status=501)
        one = self._asked(request)
        tokens, seconds = one.counters
        return web.Response(
            text=f"# TYPE llamacpp:tokens_predicted_total counter\nllamacpp:tokens_predicted_total {tokens}\n"
            f"llamacpp:tokens_predicted_seconds_total {seconds}\nllamacpp:predicted_tokens_seconds 1\n"
            f"llamacpp:requests_processing {len(one.busy)}\nllamacpp:requests_deferred {one.waiting}\n"
        )

    async def _models(self, _: web.Request) -> web.Response:
        cards = []
        for one in self.models:
            card: dict[str, Any] = {"id": one.name, "object": "model", "created": 1, "owned_by": "llamacpp"}
            card["meta"] = None if self.loading else {"n_ctx_train": 32_768, "n_ctx": one.window}
            if self.router:
                card["status"] = {"value": one.status, "args": ["llama-server"]}
            cards.append(card)
        old = [{"name": one.name, "model": one.name, "capabilities": one.able} for one in self.models]
        return web.json_response({"object": "list", "data": cards, "models": old})

    async def _completion(self, request: web.Request) -> web.Response:
        self._wake()
        if loading := self._busy_loading():
            return loading
        body = await request.json()
        one = next((one for one in self.models if one.name == body.get("model")), self.models[0])
        one.status = "loaded"
        return web.json_response({"content": " a", "tokens_predicted": 1, "model": one.name, "stop": True})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self._wake()
        one = self.models[0]
        machine = SimMachine([one.name], one.window, one.slots)
        machine.quirks.loading = self.loading
        return await self.chat(request, Dialect(), machine)

    def _wake(self) -> None:
        if self.sleeping:
            self.sleeping = False
            self.woken += 1
