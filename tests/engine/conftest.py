"""Every asynchronous test of the engine runs on virtual time, with an engine of its own."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from tests.engine.rig import Rig, rig_of
from tests.engine.virtual_loop import VirtualLoop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"virtual": VirtualLoop}


@pytest.fixture
async def rig() -> Rig:
    return await rig_of()
