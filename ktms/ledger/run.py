"""`ktms ledger` from its settings: the composition root of the accounting service.

A database that is away does not end the process: it listens, is not healthy, and prepares the schema as soon as it
can. On SIGTERM running calls finish within a few seconds; gateways keep what was not taken.
"""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from ktms.adapters.postgres.migrate import LEDGER_BOOK, MigrationRefused, Migrator
from ktms.adapters.postgres.migration_files import ledger_folder, read_migrations
from ktms.adapters.postgres.pool import open_database
from ktms.adapters.postgres.server_facts import why_away
from ktms.adapters.postgres.usage_ledger import PostgresUsageLedger
from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.telemetry.access_line import LogFormat
from ktms.adapters.telemetry.gateway_telemetry import GatewayTelemetry, LogSettings, open_telemetry
from ktms.config.ledger_settings import LedgerSettings
from ktms.ledger.server import LedgerPortUnusable, LedgerServer, Listen
from ktms.ledger.service import LedgerService
from ktms.ports.catalogue import StoreAway
from ktms.ports.telemetry import Telemetry

STDOUT = 1

STOP_GRACE_S = 5.0
"""A batch under way is one transaction of milliseconds; its sender gives up after as long."""

LOOK_EVERY_S = 2.0
"""How old the health may be, and how soon a database that is back gets its schema."""


class LedgerFailed(Exception):
    """The service cannot run; the message says why and what to do."""


async def run_ledger(settings: LedgerSettings, version: str) -> None:
    """Run until a signal.

    Raises:
        LedgerFailed: with what is in the way.
    """
    log = LogSettings(LogFormat(settings.log_format.value), settings.log_level.value, STDOUT)
    url, connections_max = settings.database_url.reveal(), settings.connections_max
    with _stop_signal() as stopped, open_telemetry(SystemClock(), log, version=version) as telemetry:
        async with open_database(url, connections_max=connections_max) as database:
            books = PostgresUsageLedger(database, telemetry)
            listen = Listen(settings.addr, settings.tls, settings.allow_plaintext)
            server = LedgerServer(listen, LedgerService(books, telemetry))
            try:
                await server.start()
            except LedgerPortUnusable as error:
                raise LedgerFailed(str(error)) from error
            telemetry.event("info", "listening", ledger=f"{settings.addr.host}:{server.port}")
            _warn(listen, telemetry)
            try:
                await _serve(server, books, _migrator(settings, version, telemetry), telemetry, stopped)
            finally:
                await server.stop(STOP_GRACE_S)


async def _serve(
    server: LedgerServer,
    books: PostgresUsageLedger,
    migrator: Migrator,
    telemetry: GatewayTelemetry,
    stopped: asyncio.Event,
) -> None:
    """Prepare the database and keep the health true until the signal."""
    refusals: list[MigrationRefused] = []
    try:
        async with asyncio.TaskGroup() as group:
            running = [
                group.create_task(_watch(server, books, migrator, telemetry)),
                group.create_task(telemetry.run()),
            ]
            await stopped.wait()
            for task in running:
                task.cancel()
    except* MigrationRefused as failed:
        refusals.extend(error for error in failed.exceptions if isinstance(error, MigrationRefused))
    if refusals:
        raise LedgerFailed(str(refusals[0])) from refusals[0]


async def _watch(
    server: LedgerServer, books: PostgresUsageLedger, migrator: Migrator, telemetry: Telemetry
) -> None:
    prepared, healthy = False, None
    while True:
        hindrance = None if prepared else await _hindrance(migrator)
        prepared = hindrance is None
        was, healthy = healthy, prepared and await books.answers()
        if healthy != was:
            await server.tell(healthy=healthy)
            if healthy:
                telemetry.event("info", "database_answers")
            else:
                telemetry.event("warning", "database_away", reason=hindrance)
        await asyncio.sleep(LOOK_EVERY_S)


async def _hindrance(migrator: Migrator) -> str | None:
    """Prepare the database; None: it is."""
    try:
        await migrator.run()
    except StoreAway as away:
        return why_away(away)
    return None


def _warn(listen: Listen, telemetry: Telemetry) -> None:
    """Tell at every start who else may write usage or read it."""
    if listen.tls is None and listen.allow_plaintext:
        telemetry.event("warning", "ledger_plaintext", address=str(listen.address))
    elif listen.tls is not None and listen.tls.client_ca is None:
        telemetry.event(
            "warning", "ledger_open", remedy="set KTMS_LEDGER_TLS_CLIENT_CA, so that gateways show one"
        )


def _migrator(settings: LedgerSettings, version: str, telemetry: Telemetry) -> Migrator:
    return Migrator(
        settings.migrate_url.reveal(),
        read_migrations(ledger_folder()),
        app_version=version,
        entropy=SystemEntropy(),
        telemetry=telemetry,
        book=LEDGER_BOOK,
    )


@contextmanager
def _stop_signal() -> Iterator[asyncio.Event]:
    """Turn SIGTERM and SIGINT into an event while the block runs."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, stopped.set)
    try:
        yield stopped
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
