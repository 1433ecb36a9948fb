"""The failure matrix has every id, and each row says when its proofs are due."""

import pytest

from sim.registry.due import Due
from sim.registry.failures import FAILURES

COUNTS = {"FR": 14, "FP": 12, "FL": 7, "FV": 9, "FN": 7, "FG": 10}
"""How many rows each table of the matrix has; their ids are numbered without gaps."""

IDS = [f"{letters}{number}" for letters, count in COUNTS.items() for number in range(1, count + 1)]

DUE_LATER = {"FG4": Due.RELEASES, "FG9": Due.RELEASES}
"""Rows whose scenario waits for a part of the product that is not built."""

CHAOS_DUE_LATER = DUE_LATER | {"FG5": Due.NEVER}
"""Rows whose chaos test does, or is not needed: no real service keeps the gateway's own wall clock."""


def test_every_id_has_a_row_and_no_other() -> None:
    assert list(FAILURES) == IDS


def test_scenarios_are_due_now_but_those_of_parts_that_are_not_built() -> None:
    late = {row.id: row.scenario_due for row in FAILURES.values() if row.scenario_due is not Due.NOW}
    assert late == DUE_LATER | {"FG10": Due.NEVER}


def test_chaos_tests_are_due_with_the_chaos_suite_but_those_of_parts_that_are_not_built() -> None:
    late = {row.id: row.chaos_due for row in FAILURES.values() if row.chaos_due is not Due.CHAOS}
    assert late == CHAOS_DUE_LATER


def test_no_chaos_test_is_due_exactly_where_nothing_real_is_involved() -> None:
    assert all((row.chaos_due is Due.NEVER) != row.needs_chaos for row in FAILURES.values())


@pytest.mark.parametrize("name", IDS)
def test_a_row_is_told_in_two_short_lines(name: str) -> None:
    row = FAILURES[name]
    assert all(0 < len(text) <= 70 and not text.endswith(".") for text in (row.fault, row.behaviour))
