"""A cell is green only for what a passing run met and showed."""

import pytest

from sim.registry.coverage import ChaosRan, Ran, Row, State, UnknownId, gaps, table
from sim.registry.due import Due
from sim.registry.failures import FAILURES
from sim.registry.scripts import SCRIPTS


def ran(*, passed: bool = True, active: tuple[str, ...] = ("FV1",), seen: tuple[str, ...] = ("FV1",)) -> Ran:
    return Ran("refusing", passed, active, seen)


def row(rows: list[Row], name: str) -> Row:
    return next(row for row in rows if row.id == name)


def test_the_table_has_every_id() -> None:
    assert [row.id for row in table([])] == [*FAILURES, *SCRIPTS]


def test_a_passing_run_that_met_and_showed_it_makes_a_cell_green() -> None:
    cell = row(table([ran()]), "FV1").scenario
    assert (cell.state, cell.by) == (State.GREEN, ("refusing",))


@pytest.mark.parametrize("run", [ran(passed=False), ran(active=()), ran(seen=()), ran(active=("FV2",))])
def test_anything_less_leaves_a_gap(run: Ran) -> None:
    assert row(table([run]), "FV1").scenario.state is State.GAP


def test_two_runs_do_not_make_up_for_each_other() -> None:
    assert row(table([ran(active=()), ran(seen=())]), "FV1").scenario.state is State.GAP


def test_a_scenario_is_named_once() -> None:
    assert row(table([ran(), ran()]), "FV1").scenario.by == ("refusing",)


def test_what_is_due_later_is_no_gap() -> None:
    assert row(table([]), "FG4").scenario.state is State.LATER


def test_what_was_due_later_is_a_gap_once_its_part_is_there() -> None:
    assert row(table([], due=(Due.NOW, Due.RELEASES)), "FG4").scenario.state is State.GAP


def test_what_is_proven_early_is_green() -> None:
    assert row(table([ran(active=("FG4",), seen=("FG4",))]), "FG4").scenario.state is State.GREEN


def test_a_chaos_test_makes_its_cell_green() -> None:
    tested = ChaosRan("test_refused", passed=True, active=("FV1",), seen=("FV1",))
    assert row(table([], [tested]), "FV1").chaos.by == ("test_refused",)


def test_a_chaos_test_that_failed_proves_nothing() -> None:
    tested = ChaosRan("test_refused", passed=False, active=("FV1",), seen=("FV1",))
    assert row(table([], [tested]), "FV1").chaos.state is State.GAP


def test_chaos_tests_that_nobody_looked_at_are_not_read_and_no_gap() -> None:
    rows = table([])
    assert row(rows, "FV1").chaos.state is State.UNREAD
    assert not any(line.endswith("no chaos test") for line in gaps(rows))


@pytest.mark.parametrize(("name", "due"), [("FG4", Due.RELEASES), ("FG9", Due.RELEASES)])
def test_a_chaos_test_of_a_part_that_is_not_built_is_due_later(name: str, due: Due) -> None:
    read: list[ChaosRan] = []
    for tests in (None, read):
        cell = row(table([], tests), name).chaos
        assert (cell.state, cell.due) == (State.LATER, due)


@pytest.mark.parametrize("name", ["FG5", "S11"])
def test_where_nothing_real_is_involved_no_chaos_test_is_needed(name: str) -> None:
    assert row(table([]), name).chaos.state is State.NOT_NEEDED


def test_a_script_needs_its_scenario() -> None:
    assert row(table([]), "S11").scenario.state is State.GAP


def test_a_gap_is_named() -> None:
    assert "FV1 (a target refuses, resets or fails at once) is proven by no scenario" in gaps(table([]))


def test_a_missing_chaos_test_is_named_once_the_others_were_read() -> None:
    rows = table([ran()], [])
    assert "FV1 (a target refuses, resets or fails at once) is proven by no chaos test" in gaps(rows)


def test_there_is_no_gap_when_all_that_is_due_is_proven() -> None:
    due = [row.id for row in FAILURES.values() if row.scenario_due is Due.NOW]
    due += [script.id for script in SCRIPTS.values() if script.due is Due.NOW]
    assert gaps(table([ran(active=tuple(due), seen=tuple(due))])) == []


def test_an_id_that_no_table_has_is_refused_of_a_chaos_test_too() -> None:
    tested = ChaosRan("redis-down", passed=False, active=("FR99",), seen=())
    with pytest.raises(UnknownId, match="redis-down speaks of FR99, which no table has"):
        table([], [tested])


def test_an_id_that_no_table_has_is_refused() -> None:
    with pytest.raises(UnknownId, match="refusing speaks of FV99, which no table has"):
        table([ran(seen=("FV1", "FV99"))])
