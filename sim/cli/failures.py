"""`ktms-sim failures`: the operator's document of failures, its picture and the alerts, made from the registry."""

from pathlib import Path

import click

from sim.cli.example import example
from sim.cli.inputs import BadInput
from sim.cli.screen import put, say
from sim.cli.verdict import OK, VIOLATED
from sim.registry.alert_rules import DOCUMENT, rules
from sim.registry.alert_rules import FILE as ALERTS
from sim.registry.handbook import document
from sim.registry.picture import FILE as PICTURE
from sim.registry.picture import picture
from sim.scenarios.catalogue import SCENARIOS

CHECKOUT = Path(__file__).parents[2]


@click.command(epilog=example("ktms-sim failures --write", "ktms-sim failures --alerts > alerts.yaml"))
@click.option("--write", is_flag=True, help="Write the files of the documents anew.")
@click.option("--check", is_flag=True, help="Only tell which of them differ; exit code 1 where one does.")
@click.option("--alerts", is_flag=True, help="Print the alert rules instead of the document.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=CHECKOUT,
    help="The checkout whose files are meant, instead of this one.",
)
@click.pass_context
def failures(ctx: click.Context, *, write: bool, check: bool, alerts: bool, folder: Path) -> None:
    """Print what operators are told of failures: tables, runbook, alerts.

    All of it is made from the registry of the failure matrix, so the files are never changed by hand.
    """
    if write + check + alerts > 1:
        raise click.UsageError("--write, --check or --alerts: one at a time")
    files = _files()
    if write:
        _write(folder, files)
    elif check:
        different = [name for name, text in files.items() if _read(folder / name) != text]
        for name in different:
            say(f"{name} is not what the registry gives: `python -m sim failures --write` makes it anew", "red")
        ctx.exit(VIOLATED if different else OK)
    else:
        click.echo(files[ALERTS if alerts else DOCUMENT], nl=False)


def _files() -> dict[str, str]:
    proves = {name: scenario.proves for name, scenario in SCENARIOS.items()}
    return {DOCUMENT: document(proves), PICTURE: picture(proves), ALERTS: rules()}


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        if _read(path) == text:
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror}") from error
        put(f"written: {name}")


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return None
