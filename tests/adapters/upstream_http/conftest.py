"""Gives each test a vendor to script and an upstream; every test runs on both loops."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import uvloop

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from tests.adapters.upstream_http.scripted import Serve, serving


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    async with serving() as serve:
        yield serve


@pytest.fixture
async def upstream(serve: Serve) -> AsyncIterator[HttpUpstream]:
    upstream = HttpUpstream(UpstreamSettings(), AddressRules())
    yield upstream
    await upstream.close()
    assert upstream.open_connections == 0, "no connection outlives its upstream"


@pytest.fixture
async def make_upstream(serve: Serve) -> AsyncIterator[Callable[[UpstreamSettings], HttpUpstream]]:
    made: list[HttpUpstream] = []

    def make(settings: UpstreamSettings) -> HttpUpstream:
        made.append(HttpUpstream(settings, AddressRules()))
        return made[-1]

    yield make
    for upstream in made:
        await upstream.close()
        assert upstream.open_connections == 0, "no connection outlives its upstream"
