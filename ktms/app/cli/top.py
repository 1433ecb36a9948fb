"""`ktms top`: nodes and queues of a running gateway, again and again.

On a terminal the view stays in its place; into a pipe each view follows the last one, without colours. A gateway
that stops answering while it is watched is said in the view, and asked again.
"""

import json
import time
from collections.abc import Callable
from math import isnan

import click
from rich.console import RenderableType

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.fleet_view import fleet_facts, fleet_view
from ktms.app.cli.screen import clean, has_blocks, is_terminal, put_raw, put_view, watched

INTERVAL_S = 2.0
"""Counts of other replicas are about as old."""

INTERVAL_MIN_S = 0.5
"""A person sees no more, and each look asks the gateway."""

INTERVAL_MAX_S = 3600.0
"""Beyond an hour a typing error is likelier than a wish."""

Show = Callable[[admin_pb2.GetFleetResponse | CommandFailed], None]
Pause = Callable[[float], None]


def _number(_ctx: click.Context, _option: click.Parameter, value: float) -> float:
    """Refuse NaN, which is between any two bounds."""
    if isnan(value):
        raise click.BadParameter(f"{value} is no number of seconds.")
    return value


@click.command(
    short_help="Watch nodes and queues of a running gateway.",
    epilog=example("ktms top", "# one look, for a script", "ktms top --once --json | jq '.nodes[].health'"),
)
@click.option("--once", is_flag=True, help="Look once.")
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(INTERVAL_MIN_S, INTERVAL_MAX_S),
    default=INTERVAL_S,
    callback=_number,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each look as one line of JSON.")
@with_admin
def top(admin: AdminClient, *, once: bool, interval_s: float, as_json: bool) -> None:
    """Watch the nodes of a gateway with their health, slots and speed, and how long calls wait.

    What is shown is what the replica that answers sees. Ctrl-C ends it. A narrow terminal is shown fewer columns.

    Nodes, a line for each model: slots taken on all replicas; the window in tokens per slot; read/s and write/s,
    tokens per second as measured, "-" until then; speed against the other nodes with the model, which is what
    calls are shared by; "(cold)": not in memory.

    Queues, a line for each model: calls waiting on all replicas; slots of the nodes that can take calls; how long
    a call holds its slot on average; how long the next one would wait, "-" where no node can take it.
    """
    shows = _shows_json if as_json else _shows_view(admin.address, put_view)
    if once:
        shows(admin.fleet())
        return
    try:
        if as_json or not is_terminal():
            watch(admin.fleet, shows, time.sleep, interval_s)
        else:
            first = admin.fleet()  # a gateway that is not there is told in a line, not on a screen of its own
            with watched() as put:
                watch(admin.fleet, _shows_view(admin.address, put), time.sleep, interval_s, first)
    except KeyboardInterrupt:
        return  # how a person ends it


def watch(
    ask: Callable[[], admin_pb2.GetFleetResponse],
    show: Show,
    pause: Pause,
    interval_s: float,
    first: admin_pb2.GetFleetResponse | None = None,
) -> None:
    """Look until interrupted; a look that fails is shown, but for the first one.

    Raises:
        CommandFailed: the first look failed.
    """
    show(first or ask())
    while True:
        pause(interval_s)
        try:
            found: admin_pb2.GetFleetResponse | CommandFailed = ask()
        except CommandFailed as error:
            found = error
        show(found)


def _shows_json(found: admin_pb2.GetFleetResponse | CommandFailed) -> None:
    facts = {"error": list(found.lines)} if isinstance(found, CommandFailed) else fleet_facts(found)
    put_raw(json.dumps(facts, ensure_ascii=False) + "\n")


def _shows_view(address: str, put: Callable[[RenderableType], None]) -> Show:
    def show(found: admin_pb2.GetFleetResponse | CommandFailed) -> None:
        if isinstance(found, CommandFailed):
            put(clean("\n".join(found.lines), "red"))
        else:
            put(fleet_view(found, address, blocks=has_blocks()))

    return show
