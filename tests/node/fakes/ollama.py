"""An Ollama: models on its disk, some in memory, some still on their way there, and stubs for a cloud.

Quirks: a model that loads is listed as if it were there, with another end at each look; a request with another
`num_ctx` loads it anew (`reloads`). Without `shows` it never answers for one model, without `lists_memory` it
fails to say what is in memory. `answers_as` is the model that its answers name.
Its child is a `FakeLlamaCpp` of its own.
"""

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from sim.fakes.engines.ollama import Ollama as Dialect
from tests.node.fakes.serving import FakeEngine, SimMachine, json_error

GIB = 1 << 30
BLOB = "ab" * 32


@dataclass
class OllamaModel:
    """One model. `place`: on the `disk`, `loading`, or in `memory`; `able` None: an Ollama that does not tell."""

    name: str
    place: str = "disk"
    digest: str = ""
    family: str = "qwen3"
    format: str = "gguf"
    able: list[str] | None = field(default_factory=lambda: ["completion", "tools"])
    able_shown: list[str] | None = None
    trained: int | None = 40_960
    num_ctx: int | None = None
    window: int | None = 4096
    size: int = 4 * GIB
    size_vram: int = 4 * GIB
    remote_host: str = ""
    blob: str = BLOB
    ended: int = 1

    @property
    def card(self) -> dict[str, Any]:
        details = {
            "format": self.format,
            "family": self.family,
            "parameter_size": "4B",
            "quantization_level": "Q4",
        }
        digest = self.digest or f"digest-of-{self.name}"
        return {"name": self.name, "model": self.name, "size": self.size, "digest": digest, "details": details}


class FakeOllama(FakeEngine):
    """The server. Calls through `/v1` and `/api/generate` bring a model into memory."""

    def __init__(self, *models: OllamaModel, version: str = "0.33.0") -> None:
        super().__init__()
        self.models = list(models)
        self.version = version
        self.reloads = 0
        self.answers_as: str | None = None
        self.shows = self.lists_memory = True
        self._looks = 0

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self._root),
            web.get("/api/version", self._version),
            web.get("/api/tags", self._tags),
            web.get("/api/ps", self._ps),
            web.post("/api/show", self._show),
            web.post("/api/generate", self._generate),
            web.post("/v1/chat/completions", self._chat),
        ]

    def model(self, name: str) -> OllamaModel | None:
        return next((one for one in self.models if one.name == name), None)

    async def _root(self, _: web.Request) -> web.Response:
        return web.Response(text="Ollama is running")

    async def _version(self, _: web.Request) -> web.Response:
        return web.json_response({"version": self.version})

    async def _tags(self, _: web.Request) -> web.Response:
        cards = []
        for one in self.models:
            card = one.card
            if one.able is not None:
                card |= {"capabilities": one.able}
            if one.remote_host:
                card |= {"remote_host": one.remote_host, "remote_model": one.name}
            cards.append(card)
        return web.json_response({"models": cards})

    async def _ps(self, _: web.Request) -> web.Response:
        self._looks += 1
        if not self.lists_memory:
            return json_error(500, "busy")
        return web.json_response({"models": [self._loaded(one) for one in self.models if one.place != "disk"]})

    def _loaded(self, one: OllamaModel) -> dict[str, Any]:
        is_first = one.place == "loading"
        end = f"2318-03-12T09:12:31.{self._looks if is_first else one.ended:09d}+01:00"
        loaded = one.card | {"expires_at": end, "size_vram": 0 if is_first else one.size_vram}
        return loaded if one.window is None else loaded | {"context_length": one.window}

    async def _show(self, request: web.Request) -> web.Response:
        one = self.model((await request.json())["model"])
        if not self.shows:
            await self.over.wait()
        if one is None:
            return json_error(404, "model not found")
        info = {"general.architecture": one.family, f"{one.family}.context_length": one.trained}
        parameters = 'stop                           "<|im_end|>"'
        if one.num_ctx is not None:
            parameters += f"\nnum_ctx                        {one.num_ctx}"
        shown = {
            "modelfile": f"# Modelfile\nFROM /models/blobs/sha256-{one.blob}\nTEMPLATE x",
            "parameters": parameters,
            "model_info": info,
            "details": one.card["details"],
        }
        able = one.able if one.able_shown is None else one.able_shown
        return web.json_response(shown if able is None else shown | {"capabilities": able})

    async def _generate(self, request: web.Request) -> web.Response:
        body = await request.json()
        one = self.model(body["model"])
        if one is None:
            return json_error(404, f"model '{body['model']}' not found")
        if "num_ctx" in body.get("options", {}):
            self.reloads += 1
        one.place = "memory"
        return web.json_response({"model": one.name, "response": "", "done": True, "done_reason": "load"})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        one = self.model(body.get("model", ""))
        machine = SimMachine([one.name for one in self.models], one.window if one else None, 1)
        machine.quirks.answers_as = self.answers_as
        if one is not None and "completion" not in (one.able or ["completion"]):
            return web.json_response({"error": {"message": "does not support chat", "code": None}}, status=400)
        if one is not None:
            one.place, one.ended = "memory", one.ended + 1
        return await self.chat(request, Dialect(), machine)
