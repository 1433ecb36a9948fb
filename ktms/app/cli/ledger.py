"""`ktms ledger`: runs the accounting service."""

import asyncio

import click
import uvloop

from ktms.app.cli.example import example
from ktms.app.cli.failed import CommandFailed
from ktms.app.release import release
from ktms.config.ledger_settings import LedgerSettings, ledger_settings_from_environment
from ktms.config.variables import SettingsInvalid
from ktms.ledger.run import LedgerFailed, run_ledger


@click.command(
    epilog=example(
        "# gateways find it by the same KTMS_LEDGER_ADDR",
        "KTMS_DATABASE_URL_FILE=/run/secrets/ledger-db KTMS_LEDGER_ADDR=127.0.0.1:9191 ktms ledger",
    )
)
def ledger() -> None:
    """Run the accounting service, as the KTMS_ environment says.

    It keeps usage events in a Postgres of its own, and tells their sums. Without it gateways keep them in theirs.
    """
    settings = _settings()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run_ledger(settings, release()))
    except LedgerFailed as error:
        raise CommandFailed(str(error)) from error


def _settings() -> LedgerSettings:
    try:
        return ledger_settings_from_environment()
    except SettingsInvalid as error:
        raise CommandFailed(*error.lines) from error
