"""`ktms admin chains`: models in the order tried."""

import click

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.screen import put_json, put_table


@click.group(epilog=example("ktms admin chains show auto"))
def chains() -> None:
    """Look at the chains of a gateway; `ktms apply` changes them."""


@chains.command("list", epilog=example("ktms admin chains list"))
@click.option("--json", "as_json", is_flag=True, help="Print the chains as JSON.")
@with_admin
def list_chains(admin: AdminClient, *, as_json: bool) -> None:
    """List chains with their tiers."""
    found = admin.chains()
    if as_json:
        put_json([chain_facts(chain) for chain in found])
        return
    rows = [[chain.name, chain.default_tier, ", ".join(tier.name for tier in chain.tiers)] for chain in found]
    put_table(("name", "default tier", "tiers"), rows)


@chains.command(epilog=example("ktms admin chains show auto"))
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the chain as JSON.")
@with_admin
def show(admin: AdminClient, name: str, *, as_json: bool) -> None:
    """Show the models of each tier, in the order tried."""
    found = next((chain for chain in admin.chains() if chain.name == name), None)
    if found is None:
        raise CommandFailed(f"there is no chain {name}")
    if as_json:
        put_json(chain_facts(found))
        return
    rows = [
        [f"{tier.name} (default)" if tier.name == found.default_tier else tier.name, ", ".join(tier.models)]
        for tier in found.tiers
    ]
    put_table(("tier", "models"), rows)


def chain_facts(chain: admin_pb2.Chain) -> dict[str, object]:
    """What is shown of a chain."""
    return {
        "name": chain.name,
        "default_tier": chain.default_tier,
        "tiers": {tier.name: list(tier.models) for tier in chain.tiers},
    }
