"""What people hand in: seeds, scenarios, plans, lines. What is wrong is said in one line, with exit code 2."""

import difflib
import math
from pathlib import Path
from typing import IO, Any

import click
from click.shell_completion import CompletionItem

from sim.cli.example import program
from sim.commit import commit_here, same_commit
from sim.edit import Edit, read_edit
from sim.faults.plan import PlanInvalid
from sim.replay_line import LineInvalid, ReplayLine, read_line
from sim.scenarios.catalogue import ALL_SCENARIOS
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
    """Find a scenario, whichever letters of its id are capitals.

    Raises:
        BadInput: there is none of this id.
    """
    ids = {each.casefold(): each for each in ALL_SCENARIOS}
    found = ids.get(name.casefold())
    if found is None:
        begun = [each for each in ids if name and each.startswith(name.casefold())]
        near = [ids[each] for each in begun or difflib.get_close_matches(name.casefold(), ids, n=3, cutoff=0.5)]
        hint = f"did you mean {' or '.join(near)}?" if near else f"`{program()} list` names them all"
        raise BadInput(
            f"there is no scenario {name!r}: {hint} (a new file is named in sim/scenarios/catalogue.py)"
        )
    return ALL_SCENARIOS[found]


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
            "the same commit, but this tree (or that one) has changes of its own: --anyway runs it"
            if same_commit(line.commit, here)
            else f"the line is of commit {line.commit}, this tree is {here}: check out that one, or add --anyway"
        )
    return line, scenario_called(line.scenario)


def writable(path: Path) -> Path:
    """Make sure that a file can be written, before the work is done of which it is to tell.

    Raises:
        BadInput: it cannot.
    """
    try:
        path.open("ab").close()
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from error
    return path


class SeedType(click.ParamType[int]):
    """A seed."""

    name = "seed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
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
            for name, scenario in ALL_SCENARIOS.items()
            if name.casefold().startswith(incomplete.casefold())
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


class FileType(click.ParamType[Path]):
    """A file that will be written."""

    name = "file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Make sure that it can be."""
        del param, ctx
        return writable(Path(str(value)))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Leave it to the shell."""
        del ctx, param
        return [CompletionItem(incomplete, type="file")]


SEED = SeedType()
SCENARIO = ScenarioType()
PLAN = PlanType()
FILE = FileType()


class Duration(click.FloatRange):
    """A length of time above 0; a number, which NaN is not."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read one."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no length of time", param, ctx)
        return number


EXPLORE = "explore"
"""The scenario of who names none."""
