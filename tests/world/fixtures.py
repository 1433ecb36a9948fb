"""The fixture that gives a test its world; any conftest may import it."""

from collections.abc import AsyncIterator

import pytest

from tests.world.real import RealWorld
from tests.world.world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A world on real sockets."""
    async with RealWorld() as world:
        yield world
