"""`python -m chaos`: breaks real services under traffic and looks what becomes of it."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.experiments.bars import BARS
from chaos.experiments.compare import Comparison, compare
from chaos.experiments.conduct import Result, conduct
from chaos.experiments.experiment import Experiment
from chaos.report.attempts import STAND_BROKE, attempted
from chaos.report.bars import bar_lines, bars_as_json
from chaos.report.guards import guard_lines, guards_as_json
from chaos.report.picture import draw
from chaos.report.rows import Row, as_json
from chaos.report.table import lines_of
from chaos.services.chosen import chosen_services
from chaos.services.service import Services, Unavailable

EXIT_BROKEN, EXIT_SKIPPED = 1, 0

T = TypeVar("T")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Break real services under traffic, and see that the gateway keeps its promises.

    \b
    Services come from the first of these that has them:
      KTMS_CHAOS_POSTGRES_URL, KTMS_CHAOS_REDIS_URL, KTMS_CHAOS_TOXIPROXY_URL
      a Docker engine that answers
      programs of this machine (.ci/install-toxiproxy builds the proxy)
    What is missing is a named skip; with KTMS_CHAOS=required it is a failure.
    """  # noqa: D301 - \b keeps lines as they are, for click


@main.command("list")
def list_them() -> None:
    """List the experiments and the ids that each proves."""
    width = max(map(len, EXPERIMENTS))
    for one in EXPERIMENTS.values():
        click.echo(f"{one.name:<{width}}  {one.title}  [{' '.join(one.ids)}]")


@main.command()
@click.argument("names", nargs=-1, metavar="[EXPERIMENT]...")
@click.option("--seed", default=1, show_default=True, help="What traffic is drawn from.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File that takes the figures as JSON.")
def guards(names: tuple[str, ...], seed: int, json_file: Path | None) -> None:
    """Take a guard of the product away, and see that the figure which it keeps small gets worse.

    Each experiment that has such a figure is carried out twice, with the guard and without.

    \b
    Example:
      python -m chaos guards redis-hung
    """  # noqa: D301 - \b keeps lines as they are, for click
    wanted = [one for one in _wanted(names) if one.figure is not None]
    found = _on_services(partial(_compared, wanted, seed))
    for line in guard_lines(found):
        click.echo(line)
    if json_file is not None:
        json_file.write_text(json.dumps(guards_as_json(found), indent=2) + "\n")
    if not all(one.passed for one in found):
        sys.exit(EXIT_BROKEN)


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--seed", default=1, show_default=True, help="What traffic is drawn from.")
@click.option("--rate", type=click.FloatRange(1, 1000), help="Calls per second, instead of the bar's own.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File that takes the bars as JSON.")
def bars(names: tuple[str, ...], seed: int, rate: float | None, json_file: Path | None) -> None:
    """Hold the product against the figures to reach, at full length and full rate: about twenty minutes.

    \b
    Example:
      python -m chaos bars redis-hung rolling-restart
    """  # noqa: D301 - \b keeps lines as they are, for click
    found = _on_services(partial(_results, _at_rate(_wanted(names, BARS), rate), seed))
    for line in bar_lines(found):
        click.echo(line)
    if json_file is not None:
        json_file.write_text(json.dumps(bars_as_json(found), indent=2) + "\n")
    if not all(one.passed for one in found):
        sys.exit(EXIT_BROKEN)


@main.command()
@click.argument("names", nargs=-1, metavar="[EXPERIMENT]...")
@click.option("--seed", default=1, show_default=True, help="What traffic is drawn from.")
@click.option("--full", is_flag=True, help="Full length: shipped defaults and long outages, where they have some.")
@click.option("--again", is_flag=True, help="Once more where a figure was missed; never where a judge objected.")
@click.option("--rate", type=click.FloatRange(1, 1000), help="Calls per second, instead of the experiment's own.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File that takes the rows as JSON.")
@click.option("--png", "png_file", type=click.Path(path_type=Path), help="File that takes the rows as a picture.")
@click.option("--journals", type=click.Path(path_type=Path), help="Folder that takes the journal of each run.")
def run(
    names: tuple[str, ...],
    seed: int,
    full: bool,
    again: bool,
    rate: float | None,
    json_file: Path | None,
    png_file: Path | None,
    journals: Path | None,
) -> None:
    """Carry out experiments, all without a name, and print what they found.

    Time is real here: with --again a machine that was busy for a moment gets a second chance, and the row says so.

    \b
    Example:
      python -m chaos run redis-down redis-hung
      python -m chaos run --json chaos.json
    """  # noqa: D301 - \b keeps lines as they are, for click
    wanted = _at_rate(_wanted(names), rate)
    if full:
        wanted = [one.at_full_length() for one in wanted]
    rows = _on_services(partial(_rows, wanted, seed, journals, again))
    for line in lines_of(rows):
        click.echo(line)
    if json_file is not None:
        json_file.write_text(json.dumps(as_json(rows), indent=2) + "\n")
    if png_file is not None:
        draw(png_file, rows)
    if not all(row.passed for row in rows):
        sys.exit(EXIT_BROKEN)


def _wanted(names: tuple[str, ...], among: Mapping[str, Experiment] = EXPERIMENTS) -> list[Experiment]:
    unknown = [name for name in names if name not in among]
    if unknown:
        raise click.BadParameter(f"there is no {', '.join(unknown)}, but {', '.join(among)}")
    return [among[name] for name in names or among]


def _at_rate(wanted: list[Experiment], rate: float | None) -> list[Experiment]:
    return wanted if rate is None else [one.at_rate(rate) for one in wanted]


def _on_services(work: Callable[[Services], Awaitable[T]]) -> T:
    """Do it on real services; what is missing ends the command."""

    async def done() -> T:
        async with chosen_services() as services:
            return await work(services)

    try:
        return asyncio.run(done())
    except Unavailable as error:
        click.echo(f"skipped: {error}")
        sys.exit(EXIT_SKIPPED)
    except STAND_BROKE as error:
        raise click.ClickException(str(error)) from error


async def _rows(
    wanted: list[Experiment], seed: int, journals: Path | None, again: bool, services: Services
) -> list[Row]:
    async def kept(one: Experiment, told: Callable[[str], None]) -> Result:
        result = await conduct(one, services, seed=seed, told=told)
        if journals is not None:
            _keep_journal(journals, result)
        return result

    rows: list[Row] = []
    for number, one in enumerate(wanted, 1):
        label = f"[{number}/{len(wanted)}] {one.name}"
        told = partial(_tell_of, label)
        rows.append(await attempted(one, partial(kept, one, told), again=again, told=told))
        _tell(f"{label}: {'proves ' + ' '.join(one.ids) if rows[-1].passed else 'FAILED'}\n")
        for complaint in rows[-1].complaints:
            _tell(f"  ! {complaint}\n")
    return rows


async def _results(wanted: list[Experiment], seed: int, services: Services) -> list[Result]:
    found: list[Result] = []
    for number, one in enumerate(wanted, 1):
        label = f"[{number}/{len(wanted)}] {one.name}"
        found.append(await conduct(one, services, seed=seed, told=partial(_tell_of, label)))
        _tell(f"{label}: {'met' if found[-1].passed else 'MISSED'}\n")
    return found


async def _compared(wanted: list[Experiment], seed: int, services: Services) -> list[Comparison]:
    found: list[Comparison] = []
    for number, one in enumerate(wanted, 1):
        label = f"[{number}/{len(wanted)}] {one.name}"
        found.append(await compare(one, services, seed=seed, told=partial(_tell_of, label)))
        _tell(f"{label}: {'worse without its guard' if found[-1].passed else 'FAILED'}\n")
    return found


def _keep_journal(folder: Path, result: Result) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{result.experiment.name}.jsonl").write_text("\n".join(result.broken.journal.lines()) + "\n")


def _tell_of(label: str, word: str) -> None:
    _tell(f"{label}: {word}")


def _tell(text: str) -> None:
    if sys.stderr.isatty() or text.endswith("\n"):
        click.echo(f"\r\x1b[K{text}" if sys.stderr.isatty() else text, nl=False, err=True)


if __name__ == "__main__":
    main(prog_name="python -m chaos")
