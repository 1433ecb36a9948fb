"""`ktms-sim replay`: a failure again, told line by line."""

from pathlib import Path

import click

from sim.cli.example import example, program
from sim.cli.inputs import FILE, line_given
from sim.cli.run import write_journal
from sim.cli.screen import put, put_json, say
from sim.cli.story import put_story
from sim.cli.verdict import VIOLATED, code_of, put_outcome
from sim.cli.watched import WALL, watched
from sim.commit import CHANGED, commit_here, same_commit
from sim.interpreter import NO_HASH
from sim.outcome import Outcome
from sim.outcome_row import row_of
from sim.replay_line import ReplayLine


@click.command(
    epilog=example(
        "ktms-sim replay 'KTMS_SIM=0123456789ab seed=42 scenario=explore-ports plan=- hash=…'",
        "# every fact, and a file of them for a program",
        "ktms-sim replay --all --journal facts.jsonl 'KTMS_SIM=… seed=… scenario=… plan=… hash=…'",
    )
)
@click.argument("line", nargs=-1, required=True)
@click.option("--anyway", is_flag=True, help="Run a line of another commit nevertheless.")
@click.option("--all", "everything", is_flag=True, help="Tell every fact, and fold none.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, without the story.")
@click.option("--journal", type=FILE, help="File that takes all facts, as lines of JSON.")
@WALL
@click.pass_context
def replay(
    ctx: click.Context,
    *,
    line: tuple[str, ...],
    anyway: bool,
    everything: bool,
    as_json: bool,
    journal: Path | None,
    wall: float,
) -> None:
    """Run the world of a LINE again and tell what happened.

    Exit code 1, too, where it is another run than then, however well it ends: a failure that does not come back is
    not mended by that.
    """
    told, scenario = line_given(line, anyway=anyway)
    done = watched(scenario, told.seed, told.edit, wall, as_json=as_json)
    commit = commit_here()
    if journal is not None:
        write_journal(journal, done.journal)
    same = told.hash == done.outcome.hash
    if as_json:
        put_json({**row_of(done.outcome, commit), "same_hash": same})
    else:
        put_story(done.journal, done.outcome.violations, everything=everything)
        put_outcome(done.outcome, commit)
    if not same:
        _differs(told, done.outcome, commit)
        ctx.exit(max(VIOLATED, code_of(done.outcome)))
    if not as_json:
        put("the same run as then: the hash is equal")
    ctx.exit(code_of(done.outcome))


def _differs(told: ReplayLine, outcome: Outcome, commit: str) -> None:
    say(f"this is another run: hash {outcome.hash} instead of {told.hash}", "yellow")
    if not same_commit(told.commit, commit):
        say("that is to be expected of another commit")
    elif told.commit.endswith(CHANGED) or commit.endswith(CHANGED):
        say("the tree had, or has, changes that no commit knows: they may be others than then")
    elif told.hash == NO_HASH:
        say("then it never came to its end; this time it did")
    else:
        world = f"--seed {told.seed} --scenario {told.scenario} --plan {told.edit.word()}"
        say(f"see where it parts: {program()} diverge {world}")
