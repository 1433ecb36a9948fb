"""Where usage events go, the accounting service or our own database, and where they wait: on disk or in memory.

Not here: sending (`engine/outbox.py`), who asks for sums (admin API, limits).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ktms.adapters.files.spool_folder import SpoolUnusable
from ktms.adapters.files.usage_spool import FileUsageSpool
from ktms.adapters.grpc.ledger_client import ClientTls, GrpcLedger, LedgerTlsUnusable
from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.usage_ledger import PostgresUsageLedger
from ktms.api.admin_grpc.exposure import is_loopback
from ktms.app.failed import StartFailed
from ktms.config.address import Address
from ktms.config.settings import LedgerTls, Settings
from ktms.ports.ledger import Ledger
from ktms.ports.spool import Spool
from ktms.ports.telemetry import Telemetry
from ktms.ports.usage_reports import UsageReports


class Book(Ledger, UsageReports, Protocol):
    """Takes events and tells their sums."""


@dataclass(frozen=True, slots=True)
class LedgerAt:
    """Where the accounting service is."""

    address: Address
    tls: LedgerTls | None = None
    allow_plaintext: bool = False


def ledger_at(settings: Settings) -> LedgerAt | None:
    """Give where the accounting service is; None: usage is kept in the gateway's own database."""
    if settings.ledger_addr is None:
        return None
    return LedgerAt(settings.ledger_addr, settings.ledger_tls, settings.ledger_allow_plaintext)


@asynccontextmanager
async def open_book(at: LedgerAt | None, database: Database, telemetry: Telemetry) -> AsyncIterator[Book]:
    """Open the way to the ledger, and close it in the same block; one that is away keeps nobody from starting.

    Raises:
        StartFailed: usage would travel in plain text where it must not, or a certificate is unusable.
    """
    if at is None:
        yield PostgresUsageLedger(database, telemetry)
        return
    if at.tls is None and not at.allow_plaintext and not is_loopback(at.address.host):
        raise StartFailed(
            f"usage would travel to {at.address} in plain text: set KTMS_LEDGER_TLS_CA, "
            "or accept the risk with KTMS_LEDGER_ALLOW_PLAINTEXT=1"
        )
    tls = None if at.tls is None else ClientTls(at.tls.ca, at.tls.cert, at.tls.key)
    try:
        ledger = GrpcLedger(str(at.address), tls)
    except LedgerTlsUnusable as error:
        raise StartFailed(str(error)) from error
    try:
        yield ledger
    finally:
        await ledger.close()


def open_spool(folder: Path | None) -> Spool:
    """Open where events wait; without a folder they wait in memory.

    Raises:
        StartFailed: the folder cannot be used.
    """
    if folder is None:
        return MemoryUsageSpool()
    try:
        return FileUsageSpool(folder)
    except SpoolUnusable as error:
        raise StartFailed(f"KTMS_SPOOL_DIR: {error}") from error
