"""`ktms-sim coverage`: what is proven, by running every scenario there is and reading what chaos has found."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import click

from sim.cli.chaos_file import chaos_runs
from sim.cli.coverage_table import coverage_as_json, failed, put_coverage
from sim.cli.example import example
from sim.cli.pace import Pace
from sim.cli.screen import put_json, say
from sim.cli.verdict import BROKEN, OK, VIOLATED
from sim.interpreter import Interpreter, Order
from sim.outcome import Outcome
from sim.outcome_row import Told
from sim.registry.coverage import Ran, UnknownId, gaps, table
from sim.scenarios.catalogue import SCENARIOS
from sim.swarm import Bounds, Tally, swarm

SEEDS = 3
"""A scenario shows what it proves with every seed; three tell a lucky one from a sound one."""

EXPLORER_SEEDS = 60
"""Worlds in which all is drawn prove nothing by themselves, but hit marks: rare ones need some dozens."""

JOBS_MAX = 256
"""More processes than any machine of ours has cores."""

DAY_S = 24 * 3600.0
"""S40 asks for a day in which everything is drawn; worlds of explorers add up to one."""

EVERYTHING = "S40"

EXPLORERS = tuple(name for name, scenario in SCENARIOS.items() if not scenario.proves)
"""The scenarios in which all is drawn: only the checkers judge them."""


@click.command(epilog=example("ktms-sim coverage", "ktms-sim coverage --chaos chaos.json --json"))
@click.option("--seeds", type=click.IntRange(1), default=SEEDS, show_default=True, help="Seeds of each scenario.")
@click.option(
    "--explorer-seeds",
    type=click.IntRange(0),
    default=EXPLORER_SEEDS,
    show_default=True,
    help="Seeds of each kind of random world.",
)
@click.option("--jobs", type=click.IntRange(1, JOBS_MAX), default=2, show_default=True, help="How many processes.")
@click.option(
    "--chaos",
    "chaos_files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="File that `python -m chaos run --json` wrote; may be given again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.pass_context
def coverage(
    ctx: click.Context,
    *,
    seeds: int,
    explorer_seeds: int,
    jobs: int,
    chaos_files: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Run every scenario and print which id of the failure matrix is proven by which.

    An id is proven by a run that passed, met its fault and showed its behaviour. Chaos tests are not run here:
    their column is filled from files, and is "not read" without one. Exit code 1: a cell is empty that is due now,
    or a run failed, of chaos too. Marks that were never hit are named.
    """
    tests = chaos_runs(chaos_files) if chaos_files else None
    orders = [
        Order(name, seed)
        for name, scenario in SCENARIOS.items()
        for seed in range(1, 1 + (seeds if scenario.proves else explorer_seeds))
    ]
    tally = Tally()
    outcomes = asyncio.run(_run(orders, tally, jobs))
    try:
        rows = table([*map(_ran, outcomes), *everything(outcomes)], tests)
    except UnknownId as error:
        say(f"the table cannot be made: {error}", "red")
        ctx.exit(BROKEN)
    if as_json:
        put_json(coverage_as_json(rows, tally, tests or ()))
    else:
        put_coverage(rows, tally, tests or ())
    ctx.exit(VIOLATED if tally.failures or gaps(rows) or failed(tests or ()) else OK)


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


def _ran(outcome: Outcome) -> Ran:
    return Ran(outcome.scenario, outcome.ok, outcome.active, outcome.seen)


def everything(outcomes: Sequence[Outcome]) -> list[Ran]:
    """Take all worlds of explorers together: they have shown S40 when they lasted a day and none complained."""
    drawn = [outcome for outcome in outcomes if outcome.scenario in EXPLORERS]
    if sum(outcome.simulated_s for outcome in drawn) < DAY_S:
        return []
    passed = all(outcome.ok for outcome in drawn)
    return [Ran(name, passed, (EVERYTHING,), (EVERYTHING,)) for name in EXPLORERS]
