"""A listener for each test that asks for one; what a port does is tested on both loops, production has uvloop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import uvloop

from tests.api.house import House, house_of
from tests.api.porch import Porch, porch_of


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    loops: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    if item.path.parent.name != "admin_grpc":  # gRPC has a loop of its own beneath
        loops["uvloop"] = uvloop.new_event_loop
    return loops


@pytest.fixture
async def porch() -> AsyncIterator[Porch]:
    async with porch_of() as made:
        yield made


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with house_of() as made:
        yield made
