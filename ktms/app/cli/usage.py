"""`ktms admin usage`: what was used, what it cost, and what own machines saved."""

import click

from ktms.adapters.system.clock import SystemClock
from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.usage_service import DIMENSIONS
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.screen import put_json, put_raw, put_table, say
from ktms.app.cli.usage_days import Day, day_number
from ktms.app.cli.usage_view import SUMS, usage_csv, usage_facts, usage_table
from ktms.domain.access.usage_report import Dimension
from ktms.domain.access.usage_sums import DAY_S, day_text


class Dimensions(click.ParamType[tuple[Dimension, ...]]):
    """Dimensions separated by commas."""

    name = "dimensions"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Dimension, ...]:
        """Read the list; empty means one row for all."""
        names = [name.strip() for name in value.split(",") if name.strip()]
        wrong = next((name for name in names if name not in set(Dimension)), None)
        if wrong is not None:
            self.fail(f"{wrong!r} is none of {', '.join(Dimension)}", param, ctx)
        if len(set(names)) < len(names):
            self.fail(f"each once: {value!r}", param, ctx)
        return tuple(Dimension(name) for name in names)


@click.command(
    epilog=example(
        "# the bill of last month by team and model",
        "ktms admin usage --by tenant,model --from 2027-01-01 --until 2027-02-01",
        "# the last week, for a spreadsheet",
        "ktms admin usage --by day,key --from 7d --csv > week.csv",
    )
)
@click.option(
    "--by", type=Dimensions(), default="day", show_default=True, help="Any of day,tenant,key,model,vendor,node."
)
@click.option(
    "--from", "since", type=Day(), default="30d", show_default=True, help="First day, such as 2027-01-31 or 7d."
)
@click.option("--until", type=Day(), help="First day that is not shown [default: tomorrow].")
@click.option("--tenant", help="Only this tenant.")
@click.option("--key", help="Only this client key, by name or id.")
@click.option("--model", help="Only this model.")
@click.option("--vendor", help="Only this vendor; local stands for own machines.")
@click.option("--csv", "as_csv", is_flag=True, help="Print all columns as CSV, with exact amounts.")
@click.option("--json", "as_json", is_flag=True, help="Print all columns as JSON, with exact amounts.")
@with_admin
def usage(
    admin: AdminClient,
    *,
    by: tuple[Dimension, ...],
    since: str,
    until: str | None,
    as_csv: bool,
    as_json: bool,
    **only: str | None,
) -> None:
    """Show usage in sums: attempts, tokens, what they cost, and what was saved against the cloud.

    Days are UTC. Saved is what answers of own machines and from the cache would have cost at the first cloud
    target of their model, less what they cost.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv or --json, not both")
    today = int(SystemClock().wall() // DAY_S)
    from_day = day_number(since, today=today)
    until_day = today + 1 if until is None else day_number(until, today=today)
    if from_day >= until_day:
        ends = "--until is the first day that is not shown"
        raise CommandFailed(f"no day lies between {day_text(from_day)} and {day_text(until_day)}: {ends}")
    names = _key_names(admin) if only["key"] is not None or Dimension.KEY in by else {}
    rows = admin.usage(
        admin_pb2.GetUsageRequest(
            from_day=from_day,
            until_day=until_day,
            by=[DIMENSIONS[dimension] for dimension in by],
            tenant=only["tenant"],
            key_id=None if only["key"] is None else _key_id(only["key"], names),
            model=only["model"],
            vendor=only["vendor"],
        )
    )
    if as_csv:
        put_raw(usage_csv(rows, by, names))
    elif as_json:
        put_json([usage_facts(row, by, names) for row in rows])
    elif not rows:
        say(f"No usage from {day_text(from_day)} to {day_text(until_day - 1)} that fits.")
    else:
        put_table([*(dimension.value for dimension in by), *SUMS], usage_table(rows, by, names))


def _key_names(admin: AdminClient) -> dict[str, str]:
    return {key.id: key.name for key in admin.list_keys()}


def _key_id(key: str, names: dict[str, str]) -> str:
    """Find the id of a key; where a name was given again after a revocation, the newest has it."""
    if key in names:
        return key
    found = [key_id for key_id, name in names.items() if name == key]
    if not found:
        raise CommandFailed(f"there is no client key {key}")
    return found[-1]
