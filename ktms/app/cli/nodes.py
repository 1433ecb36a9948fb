"""`ktms admin nodes`: own machines get keys to join with, are looked at, and switched on and off.

A command for several nodes is done to all of them or, where one of them does not exist, to none.
"""

import shlex
from collections.abc import Collection

import click

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.node.downloads import INSTALLER
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.node_view import COLUMNS, node_facts, node_lines, node_row
from ktms.app.cli.screen import is_terminal, put_json, put_raw, put_table, say

GATEWAY = "https://GATEWAY"
"""Stands in the install command where nobody said how machines reach the gateway."""


@click.group(epilog=example("ktms admin nodes create mac-1 --model qwen3:4b"))
def nodes() -> None:
    """Let machines join, look at them, switch them on and off."""


@nodes.command(
    short_help="Make the key of a node; it is printed this once.",
    epilog=example(
        "# a machine that may serve one model",
        "ktms admin nodes create mac-1 --model qwen3:4b --region fr > mac-1.key",
    ),
)
@click.argument("name")
@click.option(
    "--model",
    "models",
    multiple=True,
    help="Model it may serve, by the engine's name; repeat; default: what is declared, else what it announces.",
)
@click.option("--region", help="Region it stands in, such as fr.")
@click.option("--gateway", metavar="URL", default=GATEWAY, help="Where the machine reaches the gateway's API.")
@click.option("--json", "as_json", is_flag=True, help="Print key, id and install command as JSON.")
@with_admin
def create(
    admin: AdminClient, name: str, *, models: tuple[str, ...], region: str | None, gateway: str, as_json: bool
) -> None:
    """Make the key with which a node joins; it is printed this once, alone on standard output.

    What to run on the machine is printed beside it.
    """
    if region is not None and not region:
        raise click.BadParameter("is empty; leave it out where the node may stand anywhere", param_hint="--region")
    made = admin.issue_node_key(admin_pb2.IssueNodeKeyRequest(name=name, models=models, region=region or ""))
    if as_json:
        command = install_command(gateway, made.token, models)
        put_json({"name": name, "key_id": made.key_id, "token": made.token, "install": command})
        return
    shown = made.token if is_terminal() else "ktms_node_…"  # a key that goes into a file is shown nowhere else
    say("Run this on the machine, as its ordinary user:")
    say(f"  {install_command(gateway, shown, models)}")
    say(f"Made the key of node {name} ({made.key_id}). It is shown this once:")
    put_raw(made.token + "\n")


@nodes.command(
    "list",
    epilog=example(
        "# machines that stopped announcing", "ktms admin nodes list --json | jq '.[] | select(.silent)'"
    ),
)
@click.option("--json", "as_json", is_flag=True, help="Print the nodes as JSON.")
@with_admin
def list_nodes(admin: AdminClient, *, as_json: bool) -> None:
    """List all nodes, declared or joined, with what each last announced."""
    found = admin.nodes()
    if as_json:
        put_json([node_facts(node) for node in found])
        return
    put_table(COLUMNS, [node_row(node) for node in found])


@nodes.command(epilog=example("ktms admin nodes show mac-1"))
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the node as JSON.")
@with_admin
def show(admin: AdminClient, name: str, *, as_json: bool) -> None:
    """Show all that is known of one node."""
    found = next((node for node in admin.nodes() if node.name == name), None)
    if found is None:
        raise CommandFailed(f"there is no node {name}")
    if as_json:
        put_json(node_facts(found))
        return
    put_table(("", ""), node_lines(found))


@nodes.command(
    "revoke-key",
    epilog=example("# the machine is gone, or its key has leaked", "ktms admin nodes revoke-key mac-1"),
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@with_admin
def revoke_key(admin: AdminClient, names: tuple[str, ...]) -> None:
    """Revoke the keys of nodes for good; what these announced is forgotten."""
    keyed = {node.name for node in admin.nodes() if node.key_id}
    _refuse_unless(keyed, names, "node {} has no live key")
    for name in dict.fromkeys(names):
        admin.revoke_node_key(name)
        say(f"Revoked the key of node {name}.")


@nodes.command(epilog=example("ktms admin nodes enable mac-1"))
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@with_admin
def enable(admin: AdminClient, names: tuple[str, ...]) -> None:
    """Switch nodes on."""
    _switch(admin, names, enabled=True)


@nodes.command(epilog=example("# for a repair; calls under way go on", "ktms admin nodes disable mac-1"))
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@with_admin
def disable(admin: AdminClient, names: tuple[str, ...]) -> None:
    """Switch nodes off: they get no new calls."""
    _switch(admin, names, enabled=False)


def install_command(gateway: str, token: str, models: tuple[str, ...]) -> str:
    """Give the one line that makes a machine a node.

    The key stands in the environment, not among the arguments, which every user of that machine may read.
    """
    at = gateway.rstrip("/")
    words = ["sh", "-s", "--", "--gateway", at, *(word for model in models for word in ("--model", model))]
    installer = shlex.quote(f"{at}{INSTALLER}")
    return f"curl -fsS {installer} | KTMS_NODE_KEY={token} {shlex.join(words)}"


def _switch(admin: AdminClient, names: tuple[str, ...], *, enabled: bool) -> None:
    _refuse_unless({node.name for node in admin.nodes()}, names, "there is no node {}")
    for name in dict.fromkeys(names):
        admin.switch_node(name, enabled=enabled)
        say(f"Switched node {name} {'on' if enabled else 'off'}.")


def _refuse_unless(known: Collection[str], names: tuple[str, ...], why: str) -> None:
    """Name all that a command cannot be done to, before it is done to any."""
    wrong = [why.format(name) for name in dict.fromkeys(names) if name not in known]
    if wrong:
        raise CommandFailed(*wrong, *(["nothing was changed"] if len(names) > 1 else []))
