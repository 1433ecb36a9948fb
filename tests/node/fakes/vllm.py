"""A vLLM: static pages that are always there, metrics of each of its engines, by newer or older names."""

from typing import Any

from aiohttp import web

from sim.fakes.engines.vllm import Vllm as Dialect
from tests.node.fakes.serving import FakeEngine, SimMachine

MODEL = "Qwen/Qwen3-4B"


class FakeVllm(FakeEngine):
    """The server. `engines`: what runs and what waits in each; `blocks`: of the cache of each, None: not told."""

    def __init__(self, *engines: tuple[int, int], window: int | None = 32_768, blocks: int | None = 4096) -> None:
        super().__init__()
        self.engines = list(engines) or [(0, 0)]
        self.window, self.blocks = window, blocks
        self.adapters: list[str] = []
        self.metrics = True
        self.old_names = False
        self.gaps: tuple[float, float] = (0, 0)
        self.owner = "vllm"

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/health", self._health),
            web.get("/version", self._version),
            web.get("/v1/models", self._models),
            web.get("/metrics", self._metrics),
            web.post("/v1/completions", self._completions),
            web.post("/v1/chat/completions", self._chat),
        ]

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": "0.32.0"})

    async def _models(self, _: web.Request) -> web.Response:
        def card(name: str, parent: str | None, window: int | None) -> dict[str, Any]:
            shape = {"object": "model", "created": 1, "owned_by": self.owner, "root": name}
            return {"id": name, "parent": parent, "max_model_len": window, **shape}

        cards = [card(MODEL, None, self.window), *(card(name, MODEL, None) for name in self.adapters)]
        return web.json_response({"object": "list", "data": cards})

    async def _metrics(self, _: web.Request) -> web.Response:
        if not self.metrics:
            return web.Response(text="python_info 1.0\n")
        gap = "time_per_output_token" if self.old_names else "inter_token_latency"
        cache = "gpu" if self.old_names else "kv"
        count, seconds = self.gaps
        lines = []
        for at, (running, waiting) in enumerate(self.engines):
            labels = f'{{engine="{at}",model_name="{MODEL}"}}'
            lines += [
                f"vllm:num_requests_running{labels} {running}.0",
                f"vllm:num_requests_waiting{labels} {waiting}.0",
                f"vllm:{cache}_cache_usage_perc{labels} 0.5",
                f'vllm:{gap}_seconds_bucket{{engine="{at}",le="0.1"}} 7.0',
                f"vllm:{gap}_seconds_count{labels} {count / len(self.engines)}",
                f"vllm:{gap}_seconds_sum{labels} {seconds / len(self.engines)}",
            ]
            if self.blocks is not None:
                info = f'block_size="16",cache_dtype="auto",engine="{at}",num_gpu_blocks="{self.blocks}"'
                lines.append(f"vllm:cache_config_info{{{info}}} 1.0")
        return web.Response(text="\n".join(lines) + "\n")

    async def _completions(self, request: web.Request) -> web.Response:
        model = (await request.json())["model"]
        if model not in {MODEL, *self.adapters}:
            error = {"message": "does not exist", "type": "NotFoundError", "param": "model", "code": 404}
            return web.json_response({"error": error}, status=404)
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return web.json_response({"model": model, "choices": [{"text": " a", "index": 0}], "usage": usage})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self.chat(request, Dialect(), SimMachine([MODEL, *self.adapters], self.window, 8))
