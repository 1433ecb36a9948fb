"""The profile `nightly`: `pytest tests/sim/machines --hypothesis-profile=nightly` searches for long.

Registered here, so this folder must be named on the command line. Everywhere else `budget.py` decides.
"""

import pytest
from hypothesis import settings

from tests.sim.machines.budget import NIGHTLY

settings.register_profile(
    NIGHTLY, max_examples=3_000, stateful_step_count=80, deadline=None, print_blob=True, derandomize=False
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A search of hours is no test that hangs."""
    if settings.get_current_profile_name() == NIGHTLY:
        for item in items:
            item.add_marker(pytest.mark.timeout(0))
