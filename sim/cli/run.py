"""`ktms-sim run`: one world, in this process; with --twice in two others, which must agree."""

import asyncio
from pathlib import Path

import click

from sim.cli.example import example, program
from sim.cli.inputs import EXPLORE, FILE, PLAN, SCENARIO, SEED, BadInput
from sim.cli.screen import put, put_json, say
from sim.cli.story import put_story
from sim.cli.verdict import BROKEN, code_of, put_outcome
from sim.cli.watched import WALL, watched
from sim.commit import commit_here
from sim.edit import Edit
from sim.interpreter import NO_HASH, Interpreter, Order
from sim.journal.journal import Journal
from sim.outcome import Outcome
from sim.outcome_row import row_of
from sim.scenarios.scenario import Scenario

HASH_SEEDS = (1, 2)
"""PYTHONHASHSEED of two processes that must agree: any two that differ would do."""


@click.command(
    epilog=example(
        "ktms-sim run --seed 42 --scenario explore-ports",
        "# does it repeat? and what happened?",
        "ktms-sim run --seed 42 --twice",
        "ktms-sim run --seed 42 --timeline --journal facts.jsonl",
    )
)
@click.option("--seed", type=SEED, required=True, help="The seed that decides everything, as in 42 or 0x2a.")
@click.option("--scenario", type=SCENARIO, default=EXPLORE, show_default=True, help="Which kind of world.")
@click.option("--plan", type=PLAN, default="-", help="The word plan=… of a line: what to change in the world.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--twice", is_flag=True, help="Run it in two fresh processes and compare the hashes.")
@click.option("--timeline", is_flag=True, help="Tell what happened, line by line.")
@click.option("--all", "everything", is_flag=True, help="Tell every fact: a timeline that leaves out nothing.")
@click.option("--journal", type=FILE, help="File that takes all facts, as lines of JSON.")
@WALL
@click.pass_context
def run(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    *,
    seed: int,
    scenario: Scenario,
    plan: Edit,
    as_json: bool,
    twice: bool,
    timeline: bool,
    everything: bool,
    journal: Path | None,
    wall: float,
) -> None:
    """Run one world and judge it.

    Prints a summary, what was violated, and the one line that replays a failure.
    """
    commit = commit_here()
    if twice:
        first, second = asyncio.run(_twice(Order(scenario.id, seed, plan), wall))
        ctx.exit(_agreed(first, second, commit, as_json=as_json))
    done = watched(scenario, seed, plan, wall, as_json=as_json)
    if journal is not None:
        write_journal(journal, done.journal)
    if (timeline or everything) and not as_json:
        put_story(done.journal, done.outcome.violations, everything=everything)
    if as_json:
        put_json(row_of(done.outcome, commit))
    else:
        put_outcome(done.outcome, commit)
    ctx.exit(code_of(done.outcome))


def write_journal(path: Path, journal: Journal) -> None:
    """Write all facts as lines of JSON.

    Raises:
        BadInput: the file cannot be written.
    """
    try:
        path.write_text("".join(f"{line}\n" for line in journal.lines()), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from error


async def _twice(order: Order, wall: float) -> tuple[Outcome, Outcome]:
    async with (
        Interpreter(HASH_SEEDS[0], wall) as one,
        Interpreter(HASH_SEEDS[1], wall) as other,
        asyncio.TaskGroup() as group,
    ):
        runs = [group.create_task(interpreter.run(order)) for interpreter in (one, other)]
    first, second = (done.result().outcome for done in runs)
    return first, second


def _agreed(first: Outcome, second: Outcome, commit: str, *, as_json: bool) -> int:
    alike = first.hash == second.hash != NO_HASH
    if as_json:
        put_json({**row_of(first, commit), "alike": alike, "second_hash": second.hash})
    else:
        put_outcome(first, commit)
        if alike:
            put(f"twice the same: {first.hash}", "green")
    if alike or NO_HASH in {first.hash, second.hash}:
        return max(code_of(first), code_of(second))
    say(f"the world does not repeat: {first.hash}, then {second.hash}", "red")
    say(f"see where: {program()} diverge --seed {first.seed} --scenario {first.scenario}")
    return BROKEN
