"""`ktms admin models`: what clients may ask for."""

import click

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import placement_name
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.screen import put_json, put_table

COLUMNS = ("name", "aliases", "window", "placement", "targets", "nodes")


@click.group(epilog=example("ktms admin models list"))
def models() -> None:
    """Look at the models of a gateway; `ktms apply` changes them."""


@models.command(
    "list",
    epilog=example(
        "# models that no node serves", "ktms admin models list --json | jq '.[] | select(.nodes == [])'"
    ),
)
@click.option("--json", "as_json", is_flag=True, help="Print the models as JSON.")
@with_admin
def list_models(admin: AdminClient, *, as_json: bool) -> None:
    """List models with their targets and the nodes that serve them."""
    found = admin.models()
    if as_json:
        put_json([model_facts(model) for model in found])
        return
    put_table(COLUMNS, [model_row(model) for model in found])


def model_facts(model: admin_pb2.Model) -> dict[str, object]:
    """What is shown of a model; null means unknown, or no restriction."""
    return {
        "name": model.name,
        "aliases": list(model.aliases),
        "context_window": model.context_window if model.HasField("context_window") else None,
        "placement": placement_name(model.placement) or None,
        "placement_lock": model.placement_lock,
        "allowed_regions": list(model.allowed_regions) or None,
        "queue_timeout_ms": model.queue_timeout_ms,
        "targets": [
            {
                "vendor": target.vendor,
                "model": target.model,
                "weight": target.weight if target.HasField("weight") else None,
            }
            for target in model.targets
        ],
        "nodes": list(model.nodes),
    }


def model_row(model: admin_pb2.Model) -> list[str]:
    """Give the cells of one row."""
    placement = placement_name(model.placement) or "-"
    return [
        model.name,
        ", ".join(model.aliases) or "-",
        str(model.context_window) if model.HasField("context_window") else "-",
        f"{placement} (locked)" if model.placement_lock else placement,
        ", ".join(f"{target.vendor}/{target.model}" for target in model.targets),
        ", ".join(model.nodes) or "-",
    ]
