"""How far the proofs are: a table of ids, scenarios and chaos tests, and the cells that are empty and must not be.

Pure. A scenario proves an id only in a passing run that met the fault and showed the behaviour; a test that says
so in its name proves nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from sim.registry.due import Due
from sim.registry.failures import FAILURES, Failure
from sim.registry.scripts import SCRIPTS, Script


class State(Enum):
    """What a cell shows."""

    GREEN = "proven"
    LATER = "due later"
    NOT_NEEDED = "not needed"
    UNREAD = "not read"
    GAP = "GAP"


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a scenario: ids whose fault was active in it, and ids whose behaviour it showed."""

    scenario: str
    passed: bool
    active: Collection[str]
    seen: Collection[str]


@dataclass(frozen=True, slots=True)
class ChaosRan:
    """One chaos test and the ids that it met and showed."""

    name: str
    passed: bool
    active: Collection[str]
    seen: Collection[str]


@dataclass(frozen=True, slots=True)
class Cell:
    """Where an id is proven; `due` is when it has to be."""

    state: State
    due: Due
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One id with its two cells."""

    id: str
    title: str
    scenario: Cell
    chaos: Cell


class UnknownId(ValueError):
    """A run or a test speaks of an id that is in no table."""


DUE: frozenset[Due] = frozenset({Due.NOW, Due.CHAOS})
"""The parts whose proofs are due by now: a part joins when it is built."""


def table(runs: Sequence[Ran], tests: Sequence[ChaosRan] | None = None, due: Collection[Due] = DUE) -> list[Row]:
    """Make the table of all ids, in their order; `due` are the parts whose proofs are due by now.

    Without `tests` nobody has looked at the chaos tests: their cells say so and are no gaps.

    Raises:
        UnknownId: a run or test speaks of an id that is in no table.
    """
    check_ids(tests or ())
    check_ids(runs)
    rows = [_failure_row(failure, runs, tests, due) for failure in FAILURES.values()]
    return rows + [_script_row(script, runs, due) for script in SCRIPTS.values()]


def gaps(rows: Sequence[Row]) -> list[str]:
    """Name the cells that must be green and are not, one line each."""
    found = []
    for row in rows:
        for what, cell in (("scenario", row.scenario), ("chaos test", row.chaos)):
            if cell.state is State.GAP:
                found.append(f"{row.id} ({row.title}) is proven by no {what}")
    return found


def check_ids(proofs: Iterable[Ran | ChaosRan]) -> None:
    """Make sure that a table has all that these speak of.

    Raises:
        UnknownId: it has not.
    """
    known = FAILURES.keys() | SCRIPTS.keys()
    for one in proofs:
        unknown = {*one.active, *one.seen} - known
        if unknown:
            who = one.scenario if isinstance(one, Ran) else one.name
            raise UnknownId(f"{who} speaks of {', '.join(sorted(unknown))}, which no table has")


def _failure_row(
    failure: Failure, runs: Sequence[Ran], tests: Sequence[ChaosRan] | None, due: Collection[Due]
) -> Row:
    scenario = _cell(dict.fromkeys(_scenarios(failure.id, runs)), failure.scenario_due, due)
    return Row(failure.id, failure.fault, scenario, _chaos_cell(failure, tests, due))


def _chaos_cell(failure: Failure, tests: Sequence[ChaosRan] | None, due: Collection[Due]) -> Cell:
    if not failure.needs_chaos:
        return Cell(State.NOT_NEEDED, failure.chaos_due)
    if tests is None and failure.chaos_due in due:
        return Cell(State.UNREAD, failure.chaos_due)
    return _cell(dict.fromkeys(_chaos_tests(failure.id, tests or ())), failure.chaos_due, due)


def _script_row(script: Script, runs: Sequence[Ran], due: Collection[Due]) -> Row:
    scenario = _cell(dict.fromkeys(_scenarios(script.id, runs)), script.due, due)
    return Row(script.id, script.title, scenario, Cell(State.NOT_NEEDED, Due.NEVER))


def _scenarios(name: str, runs: Sequence[Ran]) -> Iterator[str]:
    return (run.scenario for run in runs if run.passed and name in run.active and name in run.seen)


def _chaos_tests(name: str, tests: Sequence[ChaosRan]) -> Iterator[str]:
    return (test.name for test in tests if test.passed and name in test.active and name in test.seen)


def _cell(by: Collection[str], when: Due, due: Collection[Due]) -> Cell:
    if by:
        return Cell(State.GREEN, when, tuple(by))
    if when is Due.NEVER:
        return Cell(State.NOT_NEEDED, when)
    return Cell(State.GAP if when in due else State.LATER, when)
