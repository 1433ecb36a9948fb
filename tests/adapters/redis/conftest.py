from collections.abc import AsyncIterator

import pytest

from tests.adapters.redis.stand_in import StandIn, standing_in


@pytest.fixture
async def stand_in() -> AsyncIterator[StandIn]:
    async with standing_in() as server:
        yield server
