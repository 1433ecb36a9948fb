"""`ktms-sim replay`: a failure again, told line by line."""

from pathlib import Path

import click

from sim import run as worlds
from sim.cli.example import example
from sim.cli.inputs import line_given
from sim.cli.run import write_journal
from sim.cli.screen import put, put_json, say
from sim.cli.story import put_story
from sim.cli.verdict import BROKEN, code_of, put_outcome
from sim.commit import commit_here
from sim.interpreter import NO_HASH
from sim.outcome import Outcome
from sim.outcome_row import row_of
from sim.replay_line import ReplayLine


@click.command(
    epilog=example(
        "ktms-sim replay 'KTMS_SIM=0123456789ab seed=42 scenario=explore plan=- hash=…'",
        "# every fact, and a file of them for a program",
        "ktms-sim replay --all --journal facts.jsonl 'KTMS_SIM=… seed=… scenario=… plan=… hash=…'",
    )
)
@click.argument("line", nargs=-1, required=True)
@click.option("--anyway", is_flag=True, help="Run a line of another commit nevertheless.")
@click.option("--all", "everything", is_flag=True, help="Tell every fact.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, without the story.")
@click.option("--journal", type=click.Path(path_type=Path), help="File that takes all facts, as lines of JSON.")
@click.pass_context
def replay(
    ctx: click.Context,
    *,
    line: tuple[str, ...],
    anyway: bool,
    everything: bool,
    as_json: bool,
    journal: Path | None,
) -> None:
    """Run the world of a LINE again and tell what happened."""
    told, scenario = line_given(line, anyway=anyway)
    done = worlds.run(scenario, told.seed, told.edit)
    commit = commit_here()
    if journal is not None:
        write_journal(journal, done.journal)
    same = told.hash in {"", NO_HASH, done.outcome.hash}
    if as_json:
        put_json({**row_of(done.outcome, commit), "same_hash": same})
    else:
        put_story(done.journal, everything=everything)
        put_outcome(done.outcome, commit)
    if not same:
        ctx.exit(_differs(told, done.outcome, commit))
    if told.hash == done.outcome.hash and not as_json:
        put("the same run as then: the hash is equal")
    ctx.exit(code_of(done.outcome))


def _differs(told: ReplayLine, outcome: Outcome, commit: str) -> int:
    say(f"this is another run than then: its hash is {outcome.hash}, the line says {told.hash}", "yellow")
    if told.commit != commit:
        say("that is to be expected of another commit")
        return code_of(outcome)
    if commit.endswith("+"):
        say("the tree had, or has, changes that no commit knows: they may be others than then")
        return code_of(outcome)
    world = f"--seed {told.seed} --scenario {told.scenario} --plan {told.edit.word()}"
    say(f"see where it parts: ktms-sim diverge {world}")
    return BROKEN
