"""`ktms-sim shrink`: the smallest world that fails like the one of a line."""

import asyncio
import sys

import click

from sim.cli.example import example
from sim.cli.inputs import BadInput, line_given
from sim.cli.screen import put, put_json, say
from sim.cli.verdict import put_complaints
from sim.cli.watched import WALL
from sim.commit import commit_here
from sim.edit import Edit
from sim.interpreter import Interpreter, Order
from sim.outcome import Outcome
from sim.outcome_row import HUNG, first_code, row_of
from sim.scenarios.scenario import Scenario
from sim.seed import Seed
from sim.shrink import Shrunk, Step
from sim.shrink import shrink as search

ATTEMPTS = 500
"""Worlds run at most: a minute or two for most, and little is gained after them."""

TOLD_EVERY = 25
"""Attempts between two lines of progress in a log."""


@click.command(
    epilog=example(
        "ktms-sim shrink 'KTMS_SIM=… seed=42 scenario=explore-ports plan=- hash=…'",
        "ktms-sim shrink --tries 2000 'KTMS_SIM=… seed=42 scenario=explore-ports plan=- hash=…'",
    )
)
@click.argument("line", nargs=-1, required=True)
@click.option(
    "--tries", "attempts", type=click.IntRange(1), default=ATTEMPTS, show_default=True, help="Worlds run at most."
)
@click.option("--anyway", is_flag=True, help="Take a line of another commit nevertheless.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@WALL
def shrink(*, line: tuple[str, ...], attempts: int, anyway: bool, as_json: bool, wall: float) -> None:
    """Leave out of the world of a LINE what its failure does not need, and print the smaller line.

    Faults first, then their size, then calls, then the noise; what is kept fails with the same code as before.
    Ctrl-C gives the smallest so far. Where hanging is the failure, each attempt costs the whole of --wall.
    """
    told, scenario = line_given(line, anyway=anyway)
    with asyncio.Runner() as runner:
        interpreter = Interpreter(0, wall)
        smallest = _Smallest(runner, interpreter, scenario, told.seed)
        try:
            found = smallest.find(told.edit, attempts)
        finally:
            runner.run(interpreter.close())
    _put(smallest.outcome, found, as_json=as_json)


class _Smallest:
    """Runs worlds that may be smaller; `outcome` is that of the smallest that failed as the first did."""

    outcome: Outcome

    def __init__(self, runner: asyncio.Runner, interpreter: Interpreter, scenario: Scenario, seed: int) -> None:
        self._runner = runner
        self._interpreter = interpreter
        self._scenario = scenario
        self._seed = seed
        self._step: Step | None = None

    def find(self, edit: Edit, attempts_max: int) -> Shrunk:
        """Shrink the world of an edit.

        Raises:
            BadInput: it does not fail at all.
        """
        self.outcome = self._run(edit)
        if self.outcome.ok:
            raise BadInput("the world of this line does not fail here: there is nothing to make smaller")
        drawn = self._scenario.draft(Seed(self._seed).child(self._scenario.id))
        code = first_code(self.outcome)
        say(f"it fails with {code!r}; looking for the smallest world that does")
        if code == HUNG:
            say(self.outcome.broken)
        try:
            return search(drawn, edit, self._fails, attempts_max=attempts_max, heard=self._heard)
        except KeyboardInterrupt:
            say("interrupted: this is the smallest so far", "yellow")
            return Shrunk(self.outcome.edit, 0 if self._step is None else self._step.attempts, whole=False)

    def _fails(self, edit: Edit) -> bool:
        outcome = self._run(edit)
        if first_code(outcome) != first_code(self.outcome):
            return False
        self.outcome = outcome
        return True

    def _run(self, edit: Edit) -> Outcome:
        return self._runner.run(self._interpreter.run(Order(self._scenario.id, self._seed, edit))).outcome

    def _heard(self, step: Step) -> None:
        before, self._step = self._step, step
        text = f"attempt {step.attempts}: {step.faults} faults, {step.calls} calls"
        if sys.stderr.isatty():
            click.echo(f"\r{text}\x1b[K", nl=False, err=True)
        elif before is None or step.attempts % TOLD_EVERY == 0:
            say(text)


def _put(outcome: Outcome, found: Shrunk, *, as_json: bool) -> None:
    commit = commit_here()
    if sys.stderr.isatty():
        click.echo(err=True)
    if as_json:
        put_json({**row_of(outcome, commit), "attempts": found.attempts, "whole": found.whole})
        return
    faults = "as drawn" if outcome.edit.faults is None else str(len(outcome.edit.faults))
    calls = "as drawn" if outcome.edit.calls is None else str(len(outcome.edit.calls))
    say(
        f"{found.attempts} worlds run; faults: {faults}; calls: {calls}; "
        + ("nothing more can be left out" if found.whole else "more --tries may make it smaller")
    )
    for fault in outcome.edit.faults or ():
        say(f"  {fault}")
    put_complaints(outcome)
    put(outcome.line(commit))
