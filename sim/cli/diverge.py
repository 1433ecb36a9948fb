"""`ktms-sim diverge`: where two runs of one world part, should they not be alike."""

import asyncio
import tempfile
from pathlib import Path

import click

from sim.cli.example import example
from sim.cli.inputs import EXPLORE, PLAN, SCENARIO, SEED
from sim.cli.run import HASH_SEEDS
from sim.cli.screen import put, put_json
from sim.cli.verdict import BROKEN
from sim.cli.watched import WALL
from sim.commit import commit_here
from sim.divergence import Divergence, first_divergence, read_facts, read_records
from sim.edit import Edit
from sim.interpreter import NO_HASH, Interpreter, Order
from sim.outcome import Outcome
from sim.scenarios.scenario import Scenario
from sim.trace import Record


@click.command(
    epilog=example(
        "ktms-sim diverge --seed 42 --scenario explore-ports",
        "# with the plan of a line",
        "ktms-sim diverge --seed 42 --scenario explore-ports --plan eJ…",
    )
)
@click.option("--seed", type=SEED, required=True, help="The seed that decides everything, as in 42 or 0x2a.")
@click.option("--scenario", type=SCENARIO, default=EXPLORE, show_default=True, help="Which kind of world.")
@click.option("--plan", type=PLAN, default="-", help="The word plan=… of a line: what to change in the world.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@WALL
@click.pass_context
def diverge(ctx: click.Context, *, seed: int, scenario: Scenario, plan: Edit, as_json: bool, wall: float) -> None:
    """Run a world in two processes with other hash seeds, and show the first record that differs.

    Exit codes: 0 alike, 3 they part (or one broke before its end).
    """
    with tempfile.TemporaryDirectory(prefix="ktms-sim-") as folder:
        orders = [
            Order(scenario.id, seed, plan, f"{folder}/trace-{number}", f"{folder}/journal-{number}")
            for number in HASH_SEEDS
        ]
        first, second = asyncio.run(_both(orders, wall))
        parting, where = _parting(orders)
    if as_json:
        put_json(_row(first, second, parting, where))
    else:
        _put(first, second, parting, where)
    ctx.exit(0 if _alike(first, second) and parting is None else BROKEN)


async def _both(orders: list[Order], wall: float) -> tuple[Outcome, Outcome]:
    # One after the other: records of a long world fill the memory of a process.
    outcomes = []
    for number, order in zip(HASH_SEEDS, orders, strict=True):
        async with Interpreter(number, wall) as interpreter:
            outcomes.append((await interpreter.run(order)).outcome)
    first, second = outcomes
    return first, second


def _parting(orders: list[Order]) -> tuple[Divergence | None, str]:
    """Find where the traces part, or else the journals; a process that died has written neither."""
    traces, journals = [Path(each.trace) for each in orders], [Path(each.journal) for each in orders]
    if not all(path.exists() for path in (*traces, *journals)):
        return None, ""
    found = first_divergence(read_records(traces[0]), read_records(traces[1]))
    if found is not None:
        return found, "trace"
    return first_divergence(read_facts(journals[0]), read_facts(journals[1])), "journal"


def _put(first: Outcome, second: Outcome, parting: Divergence | None, where: str) -> None:
    for outcome in (first, second):
        if outcome.broken:
            put(f"a run broke: {outcome.broken}", "red")
            put(outcome.line(commit_here()))
    if parting is None:
        alike = _alike(first, second)
        put(f"alike: {first.hash}" if alike else f"{first.hash}, then {second.hash}", "green" if alike else "red")
        return
    put(f"the {where}s part at record {parting.number}:", "red")
    for record in parting.before:
        put(f"    {record.text}")
    for name, side in (("first ", parting.left), ("second", parting.right)):
        put(f"{name}: {_text(side)}", "yellow")
        if side is not None and side.task:
            put(f"        by {side.task}")


def _row(first: Outcome, second: Outcome, parting: Divergence | None, where: str) -> dict[str, object]:
    row: dict[str, object] = {
        "seed": first.seed,
        "scenario": first.scenario,
        "hashes": [first.hash, second.hash],
        "broken": [first.broken, second.broken],
        "alike": _alike(first, second) and parting is None,
    }
    if parting is not None:
        row["where"] = where
        row["record"] = parting.number
        row["before"] = [record.text for record in parting.before]
        row["sides"] = [
            None if side is None else {"text": side.text, "task": side.task}
            for side in (parting.left, parting.right)
        ]
    return row


def _alike(first: Outcome, second: Outcome) -> bool:
    """Whether both came to a hash, and to the same."""
    return first.hash == second.hash != NO_HASH


def _text(record: Record | None) -> str:
    return "it has ended" if record is None else record.text
