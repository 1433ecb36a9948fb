"""How the coverage is shown: a table and what is missing in it, for people and for programs.

Not here: where it comes from (`coverage.py`).
"""

from collections.abc import Sequence

from sim.cli.screen import put, put_table
from sim.cli.swarm_summary import marks_never
from sim.cli.verdict import put_complaints
from sim.commit import commit_here
from sim.outcome_row import row_of
from sim.registry.coverage import Cell, ChaosRan, Row, State, gaps
from sim.swarm import Tally


def failed(tests: Sequence[ChaosRan]) -> list[str]:
    """Name the experiments that did not pass."""
    return [test.name for test in tests if not test.passed]


def put_coverage(rows: Sequence[Row], tally: Tally, tests: Sequence[ChaosRan]) -> None:
    """Write it for people: the table, sums, gaps and what failed."""
    put_table(
        ("id", "what", "scenario", "chaos test"),
        ((row.id, row.title, _cell(row.scenario), _cell(row.chaos)) for row in rows),
    )
    proven = sum(row.scenario.state is State.GREEN for row in rows)
    put(f"{proven} of {len(rows)} ids proven by a scenario, in {tally.worlds} worlds")
    broken = [row.chaos for row in rows if row.chaos.state is not State.NOT_NEEDED]
    if any(cell.state is State.UNREAD for cell in broken):
        put("chaos tests were not read: --chaos names the file of their rows")
    else:
        proven = sum(cell.state is State.GREEN for cell in broken)
        put(f"{proven} of {len(broken)} ids that need it proven by a chaos test, in {len(tests)} experiments")
    put(f"marks never hit: {', '.join(marks_never(tally)) or 'none'}")
    for gap in gaps(rows):
        put(f"gap: {gap}", "red")
    for name in failed(tests):
        put(f"did not pass, and so proves nothing: the experiment {name}", "red")
    commit = commit_here()
    for failures in tally.by_code().values():
        for outcome in failures:
            put_complaints(outcome)
            put(outcome.line(commit))


def _cell(cell: Cell) -> str:
    if cell.state is State.GREEN:
        return ", ".join(cell.by)
    return f"later: {cell.due.value}" if cell.state is State.LATER else cell.state.value


def coverage_as_json(rows: Sequence[Row], tally: Tally, tests: Sequence[ChaosRan]) -> dict[str, object]:
    """Give all of it as plain members."""
    commit = commit_here()
    return {
        "commit": commit,
        "rows": [
            {"id": row.id, "title": row.title, "scenario": _plain(row.scenario), "chaos": _plain(row.chaos)}
            for row in rows
        ],
        "gaps": gaps(rows),
        "failures": [row_of(outcome, commit) for outcome in tally.failures],
        "experiments_failed": failed(tests),
        "worlds": tally.worlds,
        "marks": dict(tally.marks),
        "marks_never": marks_never(tally),
    }


def _plain(cell: Cell) -> dict[str, object]:
    return {"state": cell.state.value, "due": cell.due.value, "by": list(cell.by)}
