"""`ktms admin version`: which release a gateway runs."""

import click

from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.screen import put, put_json


@click.command(
    "version",
    short_help="Print the release and configuration version of a gateway.",
    epilog=example("# also a test of address and key", "ktms admin version --admin-addr 127.0.0.1:9090"),
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@with_admin
def served_version(admin: AdminClient, *, as_json: bool) -> None:
    """Print which release a gateway runs, and the version of its configuration."""
    answer = admin.version()
    if as_json:
        put_json({"server_version": answer.server_version, "catalogue_version": answer.catalogue_version})
    else:
        put(f"ktms {answer.server_version}, configuration version {answer.catalogue_version}")
