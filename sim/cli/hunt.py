"""`ktms-sim hunt`: is the simulator awake? Every planted bug must be found within its budget of seeds."""

import gc

import click

from sim.cli.example import example
from sim.cli.screen import put, put_json, put_table, say
from sim.cli.verdict import VIOLATED
from sim.outcome import Outcome
from sim.planted.bug import Bug
from sim.planted.bugs import PLANTED
from sim.planted.hunt import Catch, hunt, median_seeds
from sim.run import run
from sim.scenarios.catalogue import SCENARIOS

STARTS = (1_000, 20_000, 30_000)
"""Where hunts begin; far enough apart that none sees another's worlds."""

BY_ID = {bug.id: bug for bug in PLANTED}


@click.command(
    "hunt",
    epilog=example(
        "ktms-sim hunt",
        "# one of them, from three starts",
        "ktms-sim hunt broken-stream-ends-well --starts 3",
    ),
)
@click.argument("bugs", nargs=-1, type=click.Choice(list(BY_ID)), metavar="[BUG]...")
@click.option("--starts", type=click.IntRange(1, len(STARTS)), default=1, show_default=True, help="Hunts per bug.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def hunting(ctx: click.Context, *, bugs: tuple[str, ...], starts: int, as_json: bool) -> None:
    """Plant each bug into the gateway, and count the seeds until a checker complains.

    Exit codes: 0 all found, 1 one was not found within its budget.
    """
    gc.freeze()
    found = {name: _hunts(BY_ID[name], starts) for name in bugs or BY_ID}
    if as_json:
        put_json({name: [None if one is None else one.seeds for one in hunts] for name, hunts in found.items()})
    else:
        put_table(
            ("bug", "median seeds", "seeds", "found by", "it says"),
            [_row(name, hunts) for name, hunts in found.items()],
        )
    missed = [name for name, hunts in found.items() if None in hunts]
    if missed:
        put(f"not found within the budget: {', '.join(missed)}", "red")
        ctx.exit(VIOLATED)


def _hunts(bug: Bug, starts: int) -> list[Catch | None]:
    say(f"hunting {bug.id}: {bug.title}")
    return [hunt(bug, _outcome, start=start) for start in STARTS[:starts]]


def _outcome(scenario: str, seed: int) -> Outcome:
    return run(SCENARIOS[scenario], seed).outcome


def _row(name: str, hunts: list[Catch | None]) -> tuple[str, ...]:
    catches = [one for one in hunts if one is not None]
    seeds = " ".join("-" if one is None else str(one.seeds) for one in hunts)
    codes = " ".join(dict.fromkeys(one.code for one in catches))
    first = catches[0].outcome if catches else None
    says = "" if first is None else (first.violations or (first.broken,))[0][:90]
    return (name, f"{median_seeds(catches):g}" if catches else "-", seeds, codes, says)
