"""What all fake engines share: a server on loopback that keeps what it was asked, may fall silent or go away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiohttp import web

from sim.draft import NodeDraft
from sim.fakes.asking import read_asked
from sim.fakes.dialect import Dialect, Page, Quirks, Route, Saying
from sim.fakes.gauges import Gauges
from sim.fakes.wire_text import token_text

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class SimMachine:
    """A machine as the dialects of the simulator want it; fake engines speak through them."""

    cloud, keys, running, waiting = False, 0, 0, 0

    def __init__(self, models: list[str], window: int | None, slots: int) -> None:
        self.models, self.window, self.slots, self.slots_declared = models, window, slots, slots
        self.quirks = Quirks()
        self.gauges = Gauges(NodeDraft("engine"))


class FakeEngine:
    """One engine. `asked` holds method and target of all requests, `bodies` what was posted, in order.

    While `silent` is set nothing is answered; while `hold` is there, answers stay open before their end.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.silent = False
        self.hold: asyncio.Event | None = None
        self.url = ""
        self.over = asyncio.Event()
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def routes(self) -> list[web.RouteDef]:
        raise NotImplementedError

    def count(self, target: str) -> int:
        """How often something was asked for."""
        return self.asked.count(target)

    async def start(self) -> None:
        self.over.clear()
        app = web.Application(middlewares=[self._note])
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, shutdown_timeout=0)
        await self._runner.setup()
        port = self.port if self.url else 0
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.url = site.name if port else f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Listen no more, and keep nobody waiting."""
        self.over.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @web.middleware
    async def _note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path_qs}")
        if request.method == "POST":
            self.bodies.append(await request.json())
        if self.silent:
            await self.over.wait()
        return await handler(request)

    async def chat(self, request: web.Request, dialect: Dialect, machine: SimMachine) -> web.StreamResponse:
        """Answer a chat as the dialect does; its prompt may say `tokens=9`."""
        asked = read_asked(len(self.asked), request.path, (), await request.read())
        if asked is None:
            return page(dialect.not_json())
        refused = dialect.refuses(asked, machine)
        if refused is not None:
            return page(refused)
        saying = dialect.plan(asked, Route.CHAT, machine)
        if asked.streamed:
            return await self._stream(request, dialect, saying)
        if self.hold is not None:
            await self.hold.wait()
        text = "".join(token_text(asked.exchange, nth) for nth in range(saying.tokens))
        return web.Response(body=dialect.whole(saying, text, with_usage=True), content_type="application/json")

    async def _stream(self, request: web.Request, dialect: Dialect, saying: Saying) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        await answer.write(dialect.opening(saying))
        for nth in range(1, saying.tokens + 1):
            write = dialect.first_token(saying) if nth == 1 else dialect.tokens(saying)
            await answer.write(write(nth, token_text(saying.asked.exchange, nth).encode()))
        if self.hold is not None:
            await self.hold.wait()
        await answer.write(b"".join(dialect.closing(saying, with_usage=saying.asked.usage_asked)))
        return answer


FakeEngineT = TypeVar("FakeEngineT", bound=FakeEngine)


@asynccontextmanager
async def serving(engine: FakeEngineT) -> AsyncIterator[FakeEngineT]:
    """Have it listen on a free port."""
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


def page(one: Page) -> web.Response:
    return web.Response(status=one.status, body=one.body, content_type=one.content_type)


def json_error(status: int, message: str) -> web.Response:
    return web.json_response({"error": message}, status=status)
