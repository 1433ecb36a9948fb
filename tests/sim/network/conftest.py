"""The lab, closed after each test; an error that nobody took fails it."""

from collections.abc import Iterator

import pytest

from tests.sim.network.lab import Lab


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab()
    yield made
    unhandled = made.loop.unhandled
    made.loop.close()
    assert unhandled == []
