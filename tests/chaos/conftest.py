"""What tests of the chaos suite share: a real Toxiproxy server, and servers of this machine to put behind it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from chaos.proxy.proxy import Proxies
from chaos.services.chosen import is_required
from chaos.services.local import Local
from chaos.services.local_toxiproxy import LocalToxiproxy
from chaos.services.programs import toxiproxy_program
from chaos.services.service import Address, Redis, Unavailable


@pytest.fixture
async def toxiproxy() -> AsyncIterator[LocalToxiproxy]:
    try:
        await asyncio.to_thread(toxiproxy_program)
    except Unavailable as missing:
        if is_required():
            raise
        pytest.skip(missing.why)
    async with Local().toxiproxy() as server:
        yield server


@pytest.fixture
async def proxies(toxiproxy: LocalToxiproxy) -> AsyncIterator[Proxies]:
    async with Proxies(toxiproxy) as opened:
        yield opened


@pytest.fixture
async def valkey() -> AsyncIterator[Redis]:
    async with Local().redis() as server:
        yield server


@pytest.fixture
async def echo() -> AsyncIterator[Address]:
    """Something that says back whatever it hears."""

    async def say_back(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(say_back, "127.0.0.1", 0)
    async with server:
        yield Address("127.0.0.1", server.sockets[0].getsockname()[1])
