"""`ktms-sim coverage`: what is proven, by running every scenario there is."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

import click

from sim.cli.example import example
from sim.cli.pace import Pace
from sim.cli.screen import put, put_json, put_table, say
from sim.cli.swarm_summary import marks_never
from sim.cli.verdict import BROKEN, OK, VIOLATED, put_complaints
from sim.commit import commit_here
from sim.interpreter import Interpreter, Order
from sim.outcome import Outcome
from sim.outcome_row import Told, row_of
from sim.registry.coverage import Cell, Ran, Row, State, UnknownId, gaps, table
from sim.scenarios.catalogue import SCENARIOS
from sim.swarm import Bounds, Tally, swarm

SEEDS = 3
"""A scenario shows what it proves with every seed; three tell a lucky one from a sound one."""

EXPLORER_SEEDS = 60
"""Worlds in which all is drawn prove nothing by themselves, but hit marks: rare ones need some dozens."""

JOBS_MAX = 256
"""More processes than any machine of ours has cores."""


@click.command(epilog=example("ktms-sim coverage", "ktms-sim coverage --seeds 10 --json"))
@click.option("--seeds", type=click.IntRange(1), default=SEEDS, show_default=True, help="Seeds of each scenario.")
@click.option(
    "--explorer-seeds",
    type=click.IntRange(0),
    default=EXPLORER_SEEDS,
    show_default=True,
    help="Seeds of each kind of random world.",
)
@click.option("--jobs", type=click.IntRange(1, JOBS_MAX), default=2, show_default=True, help="How many processes.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.pass_context
def coverage(ctx: click.Context, *, seeds: int, explorer_seeds: int, jobs: int, as_json: bool) -> None:
    """Run every scenario and print which id of the failure matrix is proven by which.

    An id is proven by a run that passed, met its fault and showed its behaviour. Exit code 1: a cell is empty that
    is due now, or a run failed. Marks that were never hit are named.
    """
    orders = [
        Order(name, seed)
        for name, scenario in SCENARIOS.items()
        for seed in range(1, 1 + (seeds if scenario.proves else explorer_seeds))
    ]
    tally = Tally()
    outcomes = asyncio.run(_run(orders, tally, jobs))
    try:
        rows = table([Ran(each.scenario, each.ok, each.active, each.seen) for each in outcomes])
    except UnknownId as error:
        say(f"the table cannot be made: {error}", "red")
        ctx.exit(BROKEN)
    if as_json:
        put_json(_row(rows, tally))
    else:
        _put(rows, tally)
    ctx.exit(VIOLATED if tally.failures or gaps(rows) else OK)


class _Keeping:
    """Runs worlds and keeps what they came to."""

    def __init__(self, interpreter: Interpreter, outcomes: list[Outcome]) -> None:
        self._interpreter = interpreter
        self._outcomes = outcomes

    async def run(self, order: Order) -> Told:
        """Run a world."""
        told = await self._interpreter.run(order)
        self._outcomes.append(told.outcome)
        return told


async def _run(orders: list[Order], tally: Tally, jobs: int) -> list[Outcome]:
    """Run all; outcomes in the order of the orders, whichever was ready first."""
    outcomes: list[Outcome] = []
    bounds = Bounds(worlds=len(orders), failures_max=len(orders) + 1)
    async with AsyncExitStack() as stack:
        processes = [
            _Keeping(await stack.enter_async_context(Interpreter(number)), outcomes) for number in range(jobs)
        ]
        with Pace(tally, bounds) as pace:
            await swarm(iter(orders), processes, bounds, tally, pace.moved)
    place = {(order.scenario, order.seed): at for at, order in enumerate(orders)}
    return sorted(outcomes, key=lambda outcome: place[outcome.scenario, outcome.seed])


def _put(rows: Sequence[Row], tally: Tally) -> None:
    put_table(
        ("id", "what", "scenario", "chaos test"),
        ((row.id, row.title, _cell(row.scenario), _cell(row.chaos)) for row in rows),
    )
    proven = sum(row.scenario.state is State.GREEN for row in rows)
    put(f"{proven} of {len(rows)} ids proven by a scenario, in {tally.worlds} worlds")
    put(f"marks never hit: {', '.join(marks_never(tally)) or 'none'}")
    for gap in gaps(rows):
        put(f"gap: {gap}", "red")
    commit = commit_here()
    for failures in tally.by_code().values():
        for outcome in failures:
            put_complaints(outcome)
            put(outcome.line(commit))


def _cell(cell: Cell) -> str:
    if cell.state is State.GREEN:
        return ", ".join(cell.by)
    return f"later: {cell.due.value}" if cell.state is State.LATER else cell.state.value


def _row(rows: Sequence[Row], tally: Tally) -> dict[str, object]:
    commit = commit_here()
    return {
        "commit": commit,
        "rows": [
            {"id": row.id, "title": row.title, "scenario": _plain(row.scenario), "chaos": _plain(row.chaos)}
            for row in rows
        ],
        "gaps": gaps(rows),
        "failures": [row_of(outcome, commit) for outcome in tally.failures],
        "worlds": tally.worlds,
        "marks": dict(tally.marks),
        "marks_never": marks_never(tally),
    }


def _plain(cell: Cell) -> dict[str, object]:
    return {"state": cell.state.value, "due": cell.due.value, "by": list(cell.by)}
