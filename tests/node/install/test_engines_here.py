"""Engines of this machine, found with the standard library: the same as the agent finds with its own eyes."""

import asyncio
from collections.abc import AsyncIterator, Callable

import aiohttp
import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.engines import found
from ktms.node.install.engines_here import PORTS, EngineHere, engine_at, find_engines, listens
from tests.e2e.ports import any_port, occupied
from tests.node.fakes.llamacpp import FakeLlamaCpp
from tests.node.fakes.ollama import FakeOllama, OllamaModel
from tests.node.fakes.serving import FakeEngine, serving
from tests.node.fakes.tgi import FakeTgi
from tests.node.fakes.vllm import FakeVllm

MADE: dict[EngineKind, Callable[[], FakeEngine]] = {
    EngineKind.LLAMACPP: FakeLlamaCpp,
    EngineKind.OLLAMA: lambda: FakeOllama(OllamaModel("qwen3:4b")),
    EngineKind.TGI: FakeTgi,
    EngineKind.VLLM: FakeVllm,
}


@pytest.fixture(params=list(MADE))
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[tuple[EngineKind, FakeEngine]]:
    async with serving(MADE[request.param]()) as running:
        yield request.param, running


async def test_an_engine_is_told_by_pages_that_no_other_has(engine: tuple[EngineKind, FakeEngine]) -> None:
    kind, running = engine
    seen = await asyncio.to_thread(engine_at, running.url)
    assert seen is not None
    assert seen.kind is kind
    assert seen.models


async def test_installer_and_agent_see_the_same(engine: tuple[EngineKind, FakeEngine]) -> None:
    _, running = engine
    seen = await asyncio.to_thread(engine_at, running.url)
    async with aiohttp.ClientSession() as session:
        theirs = await found.found_at(running.url, session)
    assert theirs is not None
    assert seen == EngineHere(theirs.kind, theirs.url, theirs.version, theirs.models)


async def test_a_look_posts_nothing(engine: tuple[EngineKind, FakeEngine]) -> None:
    _, running = engine
    await asyncio.to_thread(engine_at, running.url)
    assert {line.split()[0] for line in running.asked} == {"GET"}


def test_installer_and_agent_look_at_the_same_ports() -> None:
    assert PORTS == found.PORTS


def test_a_program_that_is_no_engine_is_none() -> None:
    with occupied() as port:
        assert listens(f"http://127.0.0.1:{port}")


async def test_engines_come_in_the_order_they_were_asked_for() -> None:
    async with serving(FakeVllm()) as vllm, serving(FakeOllama()) as ollama:
        urls = (f"http://127.0.0.1:{any_port()}", ollama.url, vllm.url)
        seen = await asyncio.to_thread(find_engines, urls)
    assert [one.url for one in seen] == [ollama.url, vllm.url]
