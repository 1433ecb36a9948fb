"""What people hand in: seeds, scenarios, plans, lines. What is wrong is said in one line, with exit code 2."""

import difflib
from typing import IO

import click
from click.shell_completion import CompletionItem

from sim.commit import commit_here
from sim.edit import Edit, read_edit
from sim.faults.plan import PlanInvalid
from sim.replay_line import LineInvalid, ReplayLine, read_line
from sim.scenarios.catalogue import SCENARIOS
from sim.scenarios.scenario import Scenario
from sim.seed import SeedInvalid, read_seed

BAD_INPUT = 2


class BadInput(click.ClickException):
    """One line that says what was wrong, and how it would be right."""

    exit_code = BAD_INPUT

    def show(self, file: IO[str] | None = None) -> None:
        """Write the line."""
        click.echo(f"ktms-sim: {self.message}", file=file, err=file is None)


def scenario_called(name: str) -> Scenario:
    """Find a scenario.

    Raises:
        BadInput: there is none of this id.
    """
    found = SCENARIOS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, SCENARIOS, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`ktms-sim list` names them all"
        raise BadInput(f"there is no scenario {name!r}: {hint}")
    return found


def line_given(words: tuple[str, ...], *, anyway: bool) -> tuple[ReplayLine, Scenario]:
    """Read the line that replays a run, whole or split by a shell.

    Raises:
        BadInput: it is none, of another commit and not wanted anyway, or of a scenario that is not here.
    """
    try:
        line = read_line(" ".join(words))
    except (LineInvalid, SeedInvalid, PlanInvalid) as error:
        raise BadInput(str(error)) from error
    here = commit_here()
    if line.commit != here and not anyway:
        raise BadInput(
            f"the line is of commit {line.commit}, this tree is {here}: check out that one, or add --anyway"
        )
    return line, scenario_called(line.scenario)


class SeedType(click.ParamType[int]):
    """A seed."""

    name = "seed"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it."""
        del param, ctx
        try:
            return value if isinstance(value, int) else read_seed(str(value))
        except SeedInvalid as error:
            raise BadInput(str(error)) from error


class ScenarioType(click.ParamType[Scenario]):
    """The id of a scenario."""

    name = "scenario"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Scenario:
        """Find it."""
        del param, ctx
        return value if isinstance(value, Scenario) else scenario_called(str(value))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer those that begin so."""
        del ctx, param
        return [
            CompletionItem(name, help=scenario.title)
            for name, scenario in SCENARIOS.items()
            if name.startswith(incomplete)
        ]


class PlanType(click.ParamType[Edit]):
    """What a replay changes, as the word of a line."""

    name = "word"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Edit:
        """Read it."""
        del param, ctx
        try:
            return value if isinstance(value, Edit) else read_edit(str(value))
        except PlanInvalid as error:
            raise BadInput(str(error)) from error


SEED = SeedType()
SCENARIO = ScenarioType()
PLAN = PlanType()
EXPLORE = "explore"
"""The scenario of who names none."""
