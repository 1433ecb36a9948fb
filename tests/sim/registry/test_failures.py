"""The failure matrix has every id, and each row says when its proofs are due."""

import pytest

from sim.registry.due import Due
from sim.registry.failures import FAILURES

COUNTS = {"FR": 14, "FP": 12, "FL": 7, "FV": 9, "FN": 7, "FG": 10}
"""How many rows each table of the matrix has; their ids are numbered without gaps."""

IDS = [f"{letters}{number}" for letters, count in COUNTS.items() for number in range(1, count + 1)]

DUE_NOW = [
    *(f"FR{number}" for number in range(1, 15)),
    *(f"FP{number}" for number in range(1, 13)),
    *(f"FL{number}" for number in range(1, 8)),
    *(f"FV{number}" for number in range(1, 10)),
    *(f"FN{number}" for number in (1, 2, 3, 4, 5, 7)),
    *(f"FG{number}" for number in (1, 2, 3, 5, 6, 7)),
]


def test_every_id_has_a_row_and_no_other() -> None:
    assert list(FAILURES) == IDS


def test_scenarios_of_what_is_built_are_due_now() -> None:
    assert [row.id for row in FAILURES.values() if row.scenario_due is Due.NOW] == DUE_NOW


def test_no_chaos_test_is_due_now() -> None:
    assert {row.chaos_due for row in FAILURES.values()} <= {Due.CHAOS, Due.NEVER}


def test_a_chaos_test_is_due_exactly_where_something_real_is_involved() -> None:
    assert all((row.chaos_due is Due.CHAOS) == row.needs_chaos for row in FAILURES.values())


@pytest.mark.parametrize("name", IDS)
def test_a_row_is_told_in_two_short_lines(name: str) -> None:
    row = FAILURES[name]
    assert all(0 < len(text) <= 70 and not text.endswith(".") for text in (row.fault, row.behaviour))
