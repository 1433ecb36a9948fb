"""Engines are told apart by what they answer, whatever port they sit on."""

import asyncio
from contextlib import AsyncExitStack

import aiohttp
import pytest
from aiohttp import web

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.found import PORTS, Found, find_engines, found_at
from tests.e2e.ports import any_port
from tests.node.fakes import llamacpp, tgi, vllm
from tests.node.fakes.ollama import FakeOllama, OllamaModel
from tests.node.fakes.serving import FakeEngine, serving


class Pages(FakeEngine):
    """Some other program: it answers these paths with JSON."""

    def __init__(self, **pages: object) -> None:
        super().__init__()
        self.pages = {"/" + path.replace("__", "/"): value for path, value in pages.items()}

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/{path:.*}", self._page)]

    async def _page(self, request: web.Request) -> web.Response:
        found = self.pages.get(request.path)
        return web.json_response(found, status=404 if found is None else 200)


async def test_each_engine_is_found_in_the_order_of_the_ports(session: aiohttp.ClientSession) -> None:
    async with AsyncExitStack() as stack:
        engines: list[FakeEngine] = [
            await stack.enter_async_context(serving(one))
            for one in (FakeOllama(OllamaModel("m:1b")), vllm.FakeVllm(), llamacpp.FakeLlamaCpp(), tgi.FakeTgi())
        ]
        found = await find_engines(session, ports=[any_port(), *(one.port for one in engines)])
        urls = [one.url for one in engines]
    assert found == (
        Found(EngineKind.OLLAMA, urls[0], "0.33.0", ("m:1b",)),
        Found(EngineKind.VLLM, urls[1], "0.32.0", (vllm.MODEL,)),
        Found(EngineKind.LLAMACPP, urls[2], "b7500-3f1a2c9", (llamacpp.PATH,)),
        Found(EngineKind.TGI, urls[3], "3.3.6", (tgi.MODEL,)),
    )


async def test_a_server_that_still_loads_is_found(session: aiohttp.ClientSession) -> None:
    async with serving(llamacpp.FakeLlamaCpp()) as llama:
        llama.loading = True
        assert await found_at(llama.url, session) == Found(EngineKind.LLAMACPP, llama.url, None, (llamacpp.PATH,))


@pytest.mark.parametrize(
    "pages",
    [
        {},
        {"version": {"version": "1"}},
        {"version": {"version": "1"}, "v1__models": {"data": [{"id": "m", "owned_by": "sglang"}]}},
        {"api__version": {"version": "0.0"}},
        {"api__version": {}, "api__tags": {"models": []}},
        {"info": {"model_id": "m"}},
        {"props": ["build_info"]},
    ],
)
async def test_other_programs_are_no_engines(session: aiohttp.ClientSession, pages: dict[str, object]) -> None:
    async with serving(Pages(**pages)) as other:
        assert await found_at(other.url, session) is None


async def test_a_silent_port_costs_one_bound(session: aiohttp.ClientSession) -> None:
    async with serving(FakeOllama()) as ollama:
        ollama.silent = True
        begun = asyncio.get_running_loop().time()
        assert await find_engines(session, ports=[ollama.port]) == ()
        assert asyncio.get_running_loop().time() - begun < 2.5


def test_the_usual_ports_are_looked_at() -> None:
    assert {11434, 8000, 8080} <= set(PORTS)
    assert len(PORTS) == len(set(PORTS))
