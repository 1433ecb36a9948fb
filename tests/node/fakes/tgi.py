"""A TGI: one model whatever is asked for, flat errors, 128 calls at once of which most wait."""

from aiohttp import web

from sim.fakes.engines.tgi import Tgi as Dialect
from tests.node.fakes.serving import FakeEngine, SimMachine

MODEL = "Qwen/Qwen3-4B"


class FakeTgi(FakeEngine):
    """The server."""

    def __init__(self, *, promised: int = 128, window: int = 8192) -> None:
        super().__init__()
        self.promised, self.window = promised, window
        self.running = self.waiting = 0
        self.per_token: tuple[float, float] = (0, 0)
        self.healthy = True

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/health", self._health),
            web.get("/info", self._info),
            web.get("/metrics", self._metrics),
            web.get("/v1/models", self._models),
            web.post("/generate", self._generate),
            web.post("/v1/chat/completions", self._chat),
        ]

    async def _health(self, _: web.Request) -> web.Response:
        if self.healthy:
            return web.Response()
        return web.json_response({"error": "unhealthy", "error_type": "healthcheck"}, status=503)

    async def _info(self, _: web.Request) -> web.Response:
        told = {"model_id": MODEL, "max_concurrent_requests": self.promised, "max_total_tokens": self.window}
        more = {"max_input_tokens": self.window - 1, "version": "3.3.6", "router": "text-generation-router"}
        return web.json_response(told | more)

    async def _metrics(self, _: web.Request) -> web.Response:
        count, seconds = self.per_token
        per_token = "tgi_request_mean_time_per_token_duration"
        return web.Response(
            text=f"tgi_queue_size {self.waiting}\ntgi_batch_current_size {self.running}\n"
            f"{per_token}_sum {seconds}\n{per_token}_count {count}\n"
        )

    async def _models(self, _: web.Request) -> web.Response:
        card = {"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}
        return web.json_response({"object": "list", "data": [card]})

    async def _generate(self, _: web.Request) -> web.Response:
        if not self.healthy:
            return web.json_response({"error": "Model is overloaded", "error_type": "overloaded"}, status=429)
        return web.json_response({"generated_text": " a"})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self.chat(request, Dialect(), SimMachine([MODEL], self.window, self.promised))
