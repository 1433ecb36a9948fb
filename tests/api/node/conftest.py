"""The yard as a fixture."""

from collections.abc import AsyncIterator

import pytest

from tests.api.node.yard import Yard, yard_of


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with yard_of() as made:
        yield made
