"""A gateway at hand, and a session, for each test that asks for one."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.node.gateways import GatewayAtHand, gateway_at_hand


@pytest.fixture
async def gateway() -> AsyncIterator[GatewayAtHand]:
    async with gateway_at_hand() as made:
        yield made


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made
