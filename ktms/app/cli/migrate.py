"""`ktms migrate`: brings the database's schema to what this release needs."""

import asyncio
from functools import partial

import click

from ktms.adapters.postgres.migrate import LEDGER_BOOK, MigrationRefused, Migrator
from ktms.adapters.postgres.migration_files import (
    MigrationFilesBroken,
    ledger_folder,
    read_migrations,
    shipped_folder,
)
from ktms.adapters.postgres.server_facts import why_away
from ktms.adapters.system.entropy import SystemEntropy
from ktms.app.cli.example import example
from ktms.app.cli.failed import CommandFailed
from ktms.app.cli.screen import put_json, say
from ktms.app.release import release
from ktms.config.command_settings import migration_url_from_environment
from ktms.config.variables import SettingsInvalid
from ktms.domain.access.secret import Secret
from ktms.ports.catalogue import StoreAway
from ktms.ports.telemetry import CallRecord, Count, Dependency, Gauge


@click.command(
    epilog=example(
        "# as a step of its own before an upgrade",
        "KTMS_DATABASE_URL_FILE=/run/secrets/database-url ktms migrate --check",
    )
)
@click.option("--check", is_flag=True, help="Only tell what is missing; exit code 1 when something is.")
@click.option("--json", "as_json", is_flag=True, help="Print the names of the files as JSON.")
def migrate(*, check: bool, as_json: bool) -> None:
    """Bring the database's schema to what this release needs; running gateways go on.

    The database is KTMS_DATABASE_DIRECT_URL, else KTMS_DATABASE_URL. `ktms serve` migrates by itself at its start.
    """
    names = asyncio.run(_names(_url(), check=check))
    if as_json:
        put_json({"missing" if check else "applied": list(names)})
    else:
        for name in names:
            say(f"{'missing' if check else 'applied'}: {name}")
        if not names:
            say("The schema is up to date.")
    if check and names:
        raise click.exceptions.Exit(1)


async def _names(url: Secret, *, check: bool) -> tuple[str, ...]:
    try:
        make = partial(
            Migrator, url.reveal(), app_version=release(), entropy=SystemEntropy(), telemetry=ProgressLines()
        )
        catalogue = make(read_migrations(shipped_folder()))
        ledger = make(read_migrations(ledger_folder()), book=LEDGER_BOOK)
        return tuple(
            [name for each in (catalogue, ledger) for name in await (each.check() if check else each.run())]
        )
    except StoreAway as error:
        raise CommandFailed(f"the database does not answer: {why_away(error)}") from error
    except (MigrationRefused, MigrationFilesBroken) as error:
        raise CommandFailed(str(error)) from error


def _url() -> Secret:
    try:
        url = migration_url_from_environment()
    except SettingsInvalid as error:
        raise CommandFailed(*error.lines) from error
    if url is None:
        raise CommandFailed("no database named: set KTMS_DATABASE_URL or KTMS_DATABASE_DIRECT_URL (or …_FILE)")
    return url


class ProgressLines:
    """Telemetry for a person who waits: events as lines, everything else is nobody's business here."""

    def call_started(self) -> None:
        """No calls here."""

    def call_ended(self, record: CallRecord) -> None:
        """No calls here."""

    def dependency_failed(self, dependency: Dependency, operation: str, kind: str) -> None:
        """The error itself is shown."""

    def gauge(self, gauge: Gauge, value: float, label: str = "") -> None:
        """Nobody scrapes a command."""

    def counted(self, count: Count, amount: int = 1, label: str = "") -> None:
        """Nobody scrapes a command."""

    def event(self, level: str, name: str, /, **facts: str | float | None) -> None:
        """Say it; `level` is told by the words."""
        del level
        say(" ".join((name.replace("_", " "), *(f"{key}={value}" for key, value in facts.items()))))
