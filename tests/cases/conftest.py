"""End-to-end cases take a world and a pace; which ones is decided here alone."""

import pytest

from tests.world.fixtures import world
from tests.world.pace import SHORTENED, Pace

__all__ = ["world"]


@pytest.fixture
def pace() -> Pace:
    """Times pass on a real clock here."""
    return SHORTENED
