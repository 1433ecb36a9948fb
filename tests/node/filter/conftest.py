"""A filter for each test that asks for one."""

from collections.abc import AsyncIterator

import pytest

from tests.node.filter.gate import Gate, gate_of


@pytest.fixture
async def gate() -> AsyncIterator[Gate]:
    async with gate_of() as made:
        yield made
