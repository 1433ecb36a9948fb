"""`ktms-sim swarm`: many random worlds in several processes."""

import asyncio
import secrets
import time
from collections import Counter
from contextlib import AsyncExitStack

import click

from sim.cli.example import example
from sim.cli.inputs import SCENARIO, SEED, Duration
from sim.cli.pace import Pace
from sim.cli.screen import put_json, say
from sim.cli.swarm_summary import put_summary, summary_row
from sim.cli.verdict import BROKEN, INTERRUPTED, OK, VIOLATED
from sim.cli.watched import WALL
from sim.commit import commit_here
from sim.interpreter import Interpreter
from sim.scenarios.scenario import Scenario
from sim.swarm import Bounds, Tally, orders
from sim.swarm import swarm as run_swarm

TURN = ("explore-ports", "storm", "fleet", "explore", "fleet-wire")
"""Which worlds follow each other where nobody says which: those over HTTP take several times as long."""

MINUTES = 3.0
"""How long a swarm runs of which nobody says how long."""

START_BITS = 48
"""A start is drawn from so many bits: enough that no two swarms meet, few enough to type."""

HASH_SEEDS = 2**32
"""PYTHONHASHSEED is below this."""

JOBS_MAX = 256
"""More processes than any machine of ours has cores."""


@click.command(
    epilog=example(
        "ktms-sim swarm --minutes 3",
        "# the same worlds again, and only those over HTTP",
        "ktms-sim swarm --worlds 2000 --start 1234 --scenario explore --jobs 4",
    )
)
@click.option("--minutes", type=Duration(), help="How long [default: 3].")
@click.option("--worlds", type=click.IntRange(1), help="How many worlds at most.")
@click.option(
    "--scenario",
    "scenarios",
    type=SCENARIO,
    multiple=True,
    help="Which kinds of worlds, in turn; may be given several times [default: the explorers].",
)
@click.option("--jobs", type=click.IntRange(1, JOBS_MAX), default=2, show_default=True, help="How many processes.")
@click.option("--start", type=SEED, help="The first seed [default: another one each time, and printed].")
@click.option("--failures", type=click.IntRange(1), default=3, show_default=True, help="Stop after so many.")
@WALL
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def swarm(
    *,
    minutes: float | None,
    worlds: int | None,
    scenarios: tuple[Scenario, ...],
    jobs: int,
    start: int | None,
    failures: int,
    wall: float,
    as_json: bool,
) -> None:
    """Run many worlds, each of another seed, and gather what they met.

    Ends after the time or the number of worlds, or when enough have failed. Ctrl-C gives the summary so far.
    """
    first = secrets.randbits(START_BITS) if start is None else start
    names = [scenario.id for scenario in scenarios] or list(TURN)
    if minutes is None and worlds is None:
        minutes = MINUTES
    bounds = Bounds(None if minutes is None else minutes * 60, worlds, failures)
    tally = Tally()
    began = time.perf_counter()
    try:
        say(f"swarm from seed {first} (--start {first} repeats it): {_mixture(names)}; {jobs} processes")
        asyncio.run(_run(first, names, bounds, tally, jobs, wall))
    except KeyboardInterrupt:
        tally.stopped = "interrupted"
    wall_s = time.perf_counter() - began
    if as_json:
        put_json(summary_row(tally, first, wall_s, commit_here()))
    else:
        put_summary(tally, wall_s, commit_here(), of_all=tuple(names) == TURN)
    click.get_current_context().exit(_code(tally))


async def _run(first: int, names: list[str], bounds: Bounds, tally: Tally, jobs: int, wall: float) -> None:
    async with AsyncExitStack() as stack:
        interpreters = [
            await stack.enter_async_context(Interpreter((first + number) % HASH_SEEDS, wall))
            for number in range(jobs)
        ]
        with Pace(tally, bounds) as pace:
            await run_swarm(orders(first, names), interpreters, bounds, tally, pace.moved)


def _mixture(names: list[str]) -> str:
    """Say how many worlds of each kind there are to those of the others."""
    return " : ".join(f"{count} {name}" for name, count in Counter(names).items())


def _code(tally: Tally) -> int:
    if any(outcome.violations for outcome in tally.failures):
        return VIOLATED
    if tally.failures:
        return BROKEN
    return INTERRUPTED if tally.stopped == "interrupted" else OK
