"""`ktms export`: writes what a gateway has stored as a file that `ktms apply` reads."""

import click

from ktms.api.admin_grpc.document import decode_catalogue
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.screen import put_raw
from ktms.config.gateway_dump import dump_gateway


@click.command(
    epilog=example(
        "# keep a copy, edit it, apply it", "ktms export > gateway.yaml", "ktms apply -f gateway.yaml --dry-run"
    )
)
@click.option("--json", "as_json", is_flag=True, help="Print the JSON document of the admin API instead of YAML.")
@with_admin
def export(admin: AdminClient, *, as_json: bool) -> None:
    """Print the stored configuration as YAML, without any secret."""
    document = admin.export()
    put_raw(document.decode() + "\n" if as_json else dump_gateway(decode_catalogue(document)))
