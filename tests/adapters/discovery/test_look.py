"""Looking at ports: fast, in parallel, never at ourselves, and right about a real engine."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ktms.adapters.demo_node import DemoNode
from ktms.adapters.discovery import PORTS, LoopbackAsker, discover
from ktms.adapters.discovery.pages import ASK_WITHIN_S, PAGE_BYTES_MAX, Page
from ktms.domain.catalogue import EngineKind
from tests.e2e.engine.llama_process import llama_server, model_file
from tests.world.fixtures import world
from tests.world.script import answer, fin, head, hold, pieces, raw, status
from tests.world.vendor import MockVendor
from tests.world.world import World

__all__ = ["world"]


@pytest.fixture
async def asker() -> AsyncIterator[LoopbackAsker]:
    async with LoopbackAsker() as asker:
        yield asker


def ollama(vendor: MockVendor) -> None:
    vendor.pages["/api/version"] = answer(b'{"version":"0.33.0"}')
    vendor.pages["/api/tags"] = answer(b'{"models":[{"name":"qwen3:4b"}]}')
    vendor.pages["/api/ps"] = answer(b'{"models":[]}')


async def test_an_engine_is_found_behind_any_port(world: World, asker: LoopbackAsker) -> None:
    vendor = await world.vendor()
    ollama(vendor)
    (found,) = await discover(asker.ask, ports=[vendor.listening.port])
    assert (found.engine, found.port) == (EngineKind.OLLAMA, vendor.listening.port)
    assert found.node.url == vendor.listening.url


async def test_our_own_port_is_not_even_dialled(world: World, asker: LoopbackAsker) -> None:
    vendor = await world.vendor()
    ollama(vendor)
    port = vendor.listening.port
    assert await discover(asker.ask, ports=[port], own_ports={port}) == []
    assert vendor.connections == []


async def test_a_port_where_nobody_listens_is_empty(world: World, asker: LoopbackAsker) -> None:
    vendor = await world.vendor()
    vendor.stop_listening()
    assert await discover(asker.ask, ports=[vendor.listening.port]) == []


async def test_the_demo_node_is_not_taken_for_an_engine(asker: LoopbackAsker) -> None:
    async with DemoNode() as node:
        assert await discover(asker.ask, ports=[int(node.url.rsplit(":", 1)[1])]) == []


async def test_silent_ports_cost_one_bound_in_all(world: World, asker: LoopbackAsker) -> None:
    vendors = [await world.vendor(f"silent-{n}") for n in range(6)]
    for vendor in vendors:
        for path in ("/api/version", "/props", "/version", "/info"):
            vendor.pages[path] = (hold(),)
    started = world.now()
    assert await discover(asker.ask, ports=[vendor.listening.port for vendor in vendors]) == []
    assert world.now() - started < 2 * ASK_WITHIN_S


async def test_engines_come_in_the_order_of_the_ports() -> None:
    async def ask(port: int, path: str) -> Page:
        for _ in range(port % 7):  # answers come in another order
            await asyncio.sleep(0)
        facts = {"/props": {"total_slots": 1}, "/v1/models": {"data": [{"id": f"m{port}"}]}}
        return json.dumps(facts[path]) if path in facts else None

    assert [found.port for found in await discover(ask)] == list(PORTS)


@pytest.mark.parametrize(
    "script",
    [
        status(404),
        status(302, (("Location", "/elsewhere"),)),
        (raw(b"SSH-2.0-x\r\n"), fin()),
        (head(), fin()),
        (head(), *pieces(b"x" * 512, gap_s=0), hold()),
        answer(b"\xff\xfe"),
        answer(b"x" * (PAGE_BYTES_MAX + 1)),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"),),
    ],
    ids=["404", "redirect", "not-http", "cut", "late", "not-text", "too-long", "badly-encoded"],
)
async def test_what_is_no_page_is_none(world: World, asker: LoopbackAsker, script: tuple[object, ...]) -> None:
    vendor = await world.vendor()
    vendor.pages["/props"] = script  # type: ignore[assignment]  # the parameters have different step types
    assert await asker.ask(vendor.listening.port, "/props") is None


@pytest.mark.engine
async def test_a_real_llama_cpp_tells_its_slots_and_window(tmp_path: Path, asker: LoopbackAsker) -> None:
    with llama_server(model_file(), tmp_path / "log") as server:
        (found,) = await discover(asker.ask, ports=[server.port])
    assert (found.engine, found.node.slots) == (EngineKind.LLAMACPP, server.slots)
    assert found.models[0].name == server.model
    assert found.models[0].context_window == server.slot_context_tokens
