"""Where usage goes: whether the accounting service, or our own database in its stead, tells what was spent."""

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.pool import Database
from ktms.app.books import ledger_at, open_book
from ktms.app.doctor.finding import Finding, error, fine
from ktms.app.failed import StartFailed
from ktms.config.settings import Settings
from ktms.ports.ledger import LedgerAway

LEDGER = "ledger"

ASKED = ("tenant:default",)
"""Any account will do: the answer is not looked at."""


async def ledger_finding(settings: Settings, database: Database) -> Finding:
    """Ask the ledger what somebody has spent; it needs its database for that."""
    at = ledger_at(settings)
    where = "the gateway's own Postgres" if at is None else f"ktms ledger at {at.address}"
    try:
        async with open_book(at, database, MemoryTelemetry()) as book:
            await book.spent(ASKED)
    except StartFailed as failed:
        return error(LEDGER, str(failed))
    except LedgerAway as away:
        return error(
            LEDGER,
            f"{where} does not tell what was spent ({away.kind})",
            "is it running, does its own database answer, is TLS set on both sides or on neither?",
        )
    return fine(LEDGER, f"usage goes to {where}, which answers")
