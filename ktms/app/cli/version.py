"""`ktms version`: which release is installed here."""

import click

from ktms.app.cli.example import example
from ktms.app.cli.screen import put, put_json
from ktms.app.release import release


@click.command(epilog=example("ktms version --json"))
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def version(*, as_json: bool) -> None:
    """Print which release is installed here."""
    if as_json:
        put_json({"version": release()})
    else:
        put(f"ktms {release()}")
