"""`ktms admin batches`: what lies in the queue of the night shift; never its content."""

import click

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.screen import put_json, put_table, say
from ktms.config.moment import write_moment

NANOS_PER_S = 1_000_000_000
SHOWN_MAX = 20
"""A screenful; `--most` shows more."""

SHOWN_MOST = 10_000
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})

COLUMNS = ("id", "key", "tenant", "state", "lines", "done", "failed", "made", "until")


@click.group(epilog=example("ktms admin batches list"))
def batches() -> None:
    """Look at the batches of all keys, and cancel them."""


@batches.command(
    "list",
    epilog=example(
        "# what still runs", "ktms admin batches list --json | jq '.[] | select(.ended_at == null) | .id'"
    ),
)
@click.option(
    "--most", type=click.IntRange(1, SHOWN_MOST), default=SHOWN_MAX, show_default=True, help="Show so many."
)
@click.option("--json", "as_json", is_flag=True, help="Print the batches as JSON.")
@with_admin
def list_batches(admin: AdminClient, *, most: int, as_json: bool) -> None:
    """List batches, newest first."""
    found = [batch_facts(batch) for batch in admin.batches(most)]
    if as_json:
        put_json(found)
        return
    put_table(COLUMNS, [_row(facts) for facts in found])


@batches.command(epilog=example("ktms admin batches show batch_01902d5e"))
@click.argument("batch_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the batch as JSON.")
@with_admin
def show(admin: AdminClient, batch_id: str, *, as_json: bool) -> None:
    """Show one batch."""
    facts = batch_facts(admin.batch(batch_id))
    if as_json:
        put_json(facts)
        return
    put_table(("", ""), [(name.replace("_", " "), _shown(value)) for name, value in facts.items()])


@batches.command(epilog=example("# no line of it begins any more", "ktms admin batches cancel batch_01902d5e"))
@click.argument("batch_ids", nargs=-1, required=True, metavar="ID...")
@with_admin
def cancel(admin: AdminClient, batch_ids: tuple[str, ...]) -> None:
    """Cancel batches; lines under way end, their results are kept."""
    for batch_id in batch_ids:
        batch = admin.cancel_batch(batch_id)
        stays = batch.state in ENDED - {"cancelled"}
        say(f"Batch {batch.id} {'had ended' if stays else 'is'}: {batch.state}.")


def batch_facts(batch: admin_pb2.Batch) -> dict[str, object]:
    """What is shown of a batch."""
    return {
        "id": batch.id,
        "key_id": batch.key_id,
        "tenant": batch.tenant,
        "state": batch.state,
        "route": batch.route,
        "lines": batch.total,
        "done": batch.completed,
        "failed": batch.failed,
        "created_at": write_moment(batch.created_at.ToNanoseconds() / NANOS_PER_S),
        "expires_at": write_moment(batch.expires_at.ToNanoseconds() / NANOS_PER_S),
        "ended_at": write_moment(batch.ended_at.ToNanoseconds() / NANOS_PER_S)
        if batch.HasField("ended_at")
        else None,
        "complaints": list(batch.complaints),
    }


def _row(facts: dict[str, object]) -> list[str]:
    names = ("id", "key_id", "tenant", "state", "lines", "done", "failed", "created_at")
    return [*(_shown(facts[name]) for name in names), _shown(facts["ended_at"] or facts["expires_at"])]


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "-" if value is None else str(value)
