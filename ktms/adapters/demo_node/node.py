"""The demo node's HTTP side, on aiohttp's server."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

from aiohttp import web

from ktms.adapters.demo_node import answers
from ktms.adapters.demo_node.asked import Asked, BadRequest, read
from ktms.adapters.demo_node.speech import MODEL, speech
from ktms.domain.catalogue import EngineKind, ModelSpec, NodeModelSpec, NodeSpec, TargetSpec
from ktms.domain.ids import LOCAL

HOST: Final = "127.0.0.1"

WORD_S: Final = 0.03
"""Seconds between two words: slow enough to be seen as a stream, about 30 words a second."""

SLOTS: Final = 8
"""What the gateway is told; enough for a demonstration with several clients."""

WINDOW_TOKENS: Final = 8192
"""What the gateway is told; nothing is kept of a prompt, so any number would do."""

BODY_BYTES_MAX: Final = 32 * 1024 * 1024
"""The gateway's own default cap on a body."""

STOP_WITHIN_S: Final = 1.0
"""Running answers of a demo are not worth waiting for."""

NAME: Final = "demo"


class DemoNode:
    """Listens on loopback while entered: `async with DemoNode() as node: node.url`."""

    def __init__(self, *, port: int = 0, word_s: float = WORD_S) -> None:
        self._port = port
        self._word_s = word_s
        app = web.Application(client_max_size=BODY_BYTES_MAX)
        app.add_routes(
            [
                web.get("/v1/models", _models),
                web.post("/v1/chat/completions", self._chat),
                web.post("/v1/completions", self._completion),
                web.post("/v1/embeddings", _embeddings),
            ]
        )
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=STOP_WITHIN_S
        )

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash; only while entered."""
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    @property
    def spec(self) -> NodeSpec:
        """The node as the catalogue wants it; only while entered."""
        models = (NodeModelSpec(MODEL, WINDOW_TOKENS),)
        return NodeSpec(NAME, self.url, models, engine=EngineKind.DEMO, slots=SLOTS)

    @property
    def model(self) -> ModelSpec:
        """The model as the catalogue wants it."""
        return ModelSpec(MODEL, (TargetSpec(LOCAL, MODEL),), context_window=WINDOW_TOKENS)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await _answered(request, "messages", lambda asked: self._generate(request, answers.CHAT, asked))

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        return await _answered(request, "prompt", lambda asked: self._generate(request, answers.COMPLETION, asked))

    async def _generate(self, request: web.Request, kind: answers.Kind, asked: Asked) -> web.StreamResponse:
        said = speech(asked.tokens_max)
        if not asked.stream:
            return _json(answers.complete(kind, asked, said))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        for event in answers.events(kind, asked, said):
            await response.write(event)
            await asyncio.sleep(self._word_s)
        await response.write_eof()
        return response


async def _models(request: web.Request) -> web.StreamResponse:
    del request  # it says nothing that matters
    return _json(answers.models())


async def _embeddings(request: web.Request) -> web.StreamResponse:
    async def embed(asked: Asked) -> web.StreamResponse:
        return _json(answers.embeddings(asked))

    return await _answered(request, "input", embed)


async def _answered(
    request: web.Request, prompt_member: str, answer: Callable[[Asked], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    try:
        asked = read(await request.read(), prompt_member)
    except BadRequest as problem:
        return _json(answers.error(problem), problem.status)
    return await answer(asked)


def _json(value: answers.Json, status: int = 200) -> web.Response:
    return web.Response(body=answers.encode(value), status=status, content_type="application/json")
