"""`ktms admin keys`: client keys are made, listed and revoked."""

from decimal import Decimal, InvalidOperation
from typing import TypedDict, Unpack

import click

from ktms.api.admin_grpc.messages import request_for
from ktms.app.cli.admin_client import AdminClient
from ktms.app.cli.connection import with_admin
from ktms.app.cli.example import example
from ktms.app.cli.key_listing import COLUMNS, key_facts, key_row
from ktms.app.cli.screen import put_json, put_raw, put_table, say
from ktms.config.moment import MomentInvalid, read_moment
from ktms.config.money import DollarsInvalid, read_micros
from ktms.domain.access.limits import LIMIT_MAX, Limits
from ktms.domain.catalogue import DEFAULT_TENANT, ClientKeySpec, DollarLimitMode
from ktms.domain.catalogue_entries import CACHE_TTL_MAX_S
from ktms.domain.placement import Placement


class Dollars(click.ParamType[int]):
    """Dollars, given as whole micro-dollars."""

    name = "dollars"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read dollars exactly."""
        try:
            return read_micros(Decimal(str(value)))
        except (InvalidOperation, DollarsInvalid) as error:
            no_number = "expected dollars, such as 20 or 0.50"
            self.fail(str(error) if isinstance(error, DollarsInvalid) else no_number, param, ctx)


class Moment(click.ParamType[float]):
    """A date, given as seconds since 1970."""

    name = "date"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a date, UTC where it names no zone."""
        try:
            return read_moment(str(value))
        except MomentInvalid as error:
            self.fail(str(error), param, ctx)


class Wishes(TypedDict):
    """Options of `create`, as click gives them."""

    tenant: str
    models: tuple[str, ...]
    placements: tuple[str, ...]
    regions: tuple[str, ...]
    placement: str | None
    placement_lock: bool
    tier: str | None
    interactive: bool
    rpm: int | None
    tpm: int | None
    concurrent: int | None
    usd_per_day: int | None
    usd_per_month: int | None
    dollar_limit_mode: str | None
    cache_ttl: int
    expires: float | None


AMOUNT = click.IntRange(0, LIMIT_MAX)
PLACEMENTS = click.Choice([each.value for each in Placement])


@click.group(epilog=example("ktms admin keys create app-1 --usd-per-month 50"))
def keys() -> None:
    """Make, list and revoke client keys; `ktms apply` changes their limits.

    What they have spent: ktms admin usage --by key.
    """


@keys.command(
    short_help="Make a client key; its token is printed this once.",
    epilog=example(
        "# a key with a budget",
        "ktms admin keys create app-1 --usd-per-month 50 --rpm 60 > app-1.key",
        "# for one team's app, for one chain; both are declared in gateway.yaml",
        "ktms admin keys create app-2 --tenant team-a --model auto > app-2.key",
    ),
)
@click.argument("name")
@click.option("--tenant", default=DEFAULT_TENANT, show_default=True, help="Team the key belongs to.")
@click.option(
    "--model", "models", multiple=True, help="Model, alias or chain it may ask for; repeat; default all."
)
@click.option("--allow-placement", "placements", multiple=True, type=PLACEMENTS, help="Repeat; default all.")
@click.option("--region", "regions", multiple=True, help="Region its calls may run in; repeat; default all.")
@click.option("--placement", type=PLACEMENTS, help="Placement of calls that name none.")
@click.option("--placement-lock", is_flag=True, help="Refuse calls that name another placement.")
@click.option("--tier", help="Tier of calls that name none.")
@click.option("--interactive", is_flag=True, help="A person waits: hardly queue.")
@click.option("--rpm", type=AMOUNT, help="Requests per minute.")
@click.option("--tpm", type=AMOUNT, help="Tokens per minute.")
@click.option("--concurrent", type=AMOUNT, help="Requests at once.")
@click.option("--usd-per-day", type=Dollars(), help="Dollars per day (UTC).")
@click.option("--usd-per-month", type=Dollars(), help="Dollars per month (UTC).")
@click.option(
    "--dollar-limit-mode",
    type=click.Choice([each.value for each in DollarLimitMode]),
    help="What its dollar limits do while they cannot be counted.",
)
@click.option(
    "--cache-ttl",
    type=click.IntRange(0, CACHE_TTL_MAX_S),
    default=0,
    metavar="SECONDS",
    help="Keep answers to its calls and give them to exact repeats; default as each model says.",
)
@click.option("--expires", type=Moment(), help="Last moment of the key, such as 2027-01-31T12:00:00Z.")
@click.option("--json", "as_json", is_flag=True, help="Print key and token as JSON.")
@with_admin
def create(admin: AdminClient, name: str, *, as_json: bool, **wishes: Unpack[Wishes]) -> None:
    """Make a client key; its token is printed this once, alone on standard output."""
    spec = _spec(name, wishes)
    made = admin.create_key(request_for(spec))
    if as_json:
        put_json({**key_facts(made.key), "token": made.token})
        return
    say(f"Made key {made.key.name} ({made.key.id}) of tenant {made.key.tenant}. It is shown this once:")
    put_raw(made.token + "\n")


@keys.command(
    "list",
    epilog=example(
        "# names of all keys of a team",
        "ktms admin keys list --json | jq -r '.[] | select(.tenant == \"team-a\") | .name'",
    ),
)
@click.option("--all", "revoked_too", is_flag=True, help="Show revoked keys too.")
@click.option("--json", "as_json", is_flag=True, help="Print the keys as JSON.")
@with_admin
def list_keys(admin: AdminClient, *, revoked_too: bool, as_json: bool) -> None:
    """List client keys, oldest first; tokens are never shown again."""
    plain = [key_facts(key) for key in admin.list_keys() if revoked_too or not key.revoked]
    if as_json:
        put_json(plain)
        return
    put_table(COLUMNS, [key_row(each) for each in plain])


@keys.command(
    epilog=example(
        "# the id, as `list` shows it; in a token it stands after ktms_sk_",
        "ktms admin keys revoke 4f9KqT0aZx",
    )
)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@with_admin
def revoke(admin: AdminClient, ids: tuple[str, ...]) -> None:
    """Revoke client keys by their ids, for good, on all replicas."""
    for key_id in ids:
        admin.revoke_key(key_id)
        say(f"Revoked {key_id}.")


def _spec(name: str, wishes: Wishes) -> ClientKeySpec:
    """Read the options of `create`, which click has checked; what is not given restricts nothing."""
    placement, mode = wishes["placement"], wishes["dollar_limit_mode"]
    return ClientKeySpec(
        name=name,
        tenant=wishes["tenant"],
        models=wishes["models"] or None,
        placements=tuple(Placement(each) for each in wishes["placements"]) or None,
        allowed_regions=wishes["regions"] or None,
        placement=Placement(placement) if placement else None,
        placement_lock=wishes["placement_lock"],
        tier=wishes["tier"],
        interactive=wishes["interactive"],
        limits=Limits(
            rpm=wishes["rpm"],
            tpm=wishes["tpm"],
            concurrent=wishes["concurrent"],
            usd_per_day_micros=wishes["usd_per_day"],
            usd_per_month_micros=wishes["usd_per_month"],
        ),
        dollar_limit_mode=DollarLimitMode(mode) if mode else None,
        cache_ttl_s=wishes["cache_ttl"],
        expires_at=wishes["expires"],
    )
