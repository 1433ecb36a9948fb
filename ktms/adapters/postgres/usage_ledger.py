"""The ledger on Postgres: each usage event once, sums by day, and the questions about them.

A batch is one statement in one transaction: all of it or nothing (`usage_statements.py`). Months get their
partitions ahead, looked after by whoever stores; where that fails events go to the rest partition, and are moved
when their month is made. Not here: the schema (migrations/ledger).
"""

import asyncio
from collections.abc import Sequence
from datetime import date

import asyncpg

from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.usage_statements import INGEST, SPENT, arguments_of, usage_statement
from ktms.domain.access.pricing import micros_up
from ktms.domain.access.quota import Spent
from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.access.usage_report import ROWS_MAX, Dimension, UsageQuery, UsageRow, UsageTooFine
from ktms.domain.access.usage_sums import EPOCH_ORDINAL, month_of
from ktms.ports.catalogue import StoreAway
from ktms.ports.ledger import LedgerAway
from ktms.ports.telemetry import Telemetry

SEND_TIMEOUT_S = 4.0
"""A batch takes milliseconds; whoever sends it gives up after 5 s and should hear why before that."""

QUERY_TIMEOUT_S = 20.0
"""A year of a large installation is read from its days in a second or two."""

SPENT_TIMEOUT_S = 3.0
"""A call may wait for it (FR11)."""

MONTHS_EVERY_S = 6 * 3600.0
"""Two months are made ahead, so a look now and then is enough."""


MONTHS_AGAIN_S = 60.0
"""After a failure: until then events of a new month lie in the rest, which costs nothing but a look."""

_REFUSALS = (asyncpg.PostgresError, asyncpg.InterfaceError)
"""What a session lets through: the database answers, and does not want what it was asked."""


class PostgresUsageLedger:
    """Implements the ports Ledger and UsageReports."""

    def __init__(self, database: Database, telemetry: Telemetry) -> None:
        self._database = database
        self._telemetry = telemetry
        self._months_due_at = 0.0

    async def send(self, events: Sequence[UsageEvent]) -> None:
        """Store a batch."""
        try:
            arguments = arguments_of(events)
        except (ValueError, OverflowError) as error:
            raise LedgerAway("refused") from error
        try:
            await self._ensure_months()
            async with self._database.session("usage_store", SEND_TIMEOUT_S) as connection:
                await connection.execute(INGEST, *arguments)
        except StoreAway as error:
            raise LedgerAway from error
        except _REFUSALS as error:
            self._telemetry.event("error", "usage_refused", kind=type(error).__name__, events=len(events))
            raise LedgerAway("refused") from error

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        """Add up the days that the question is about."""
        filters = (query.tenant, query.key_id, query.model, query.vendor)
        days = _date(query.from_day), _date(query.until_day)
        rows = await self._rows("usage_query", QUERY_TIMEOUT_S, usage_statement(query.by), *days, *filters)
        if len(rows) > ROWS_MAX:
            raise UsageTooFine
        return [_row(row, query.by) for row in rows]

    async def spent(self, accounts: Sequence[str]) -> Sequence[Spent]:
        """Read today and this month of the accounts, by the database's clock."""
        names = [account.partition(":") for account in accounts]
        keys, tenants = ([name for kind, _, name in names if kind == wanted] for wanted in ("key", "tenant"))
        rows = await self._rows("usage_spent", SPENT_TIMEOUT_S, SPENT, keys, tenants)
        today = rows[0]["day"].toordinal() - EPOCH_ORDINAL
        found = {row["account"]: (int(row["day_picos"]), int(row["month_picos"])) for row in rows}
        return [_spent(account, today, *found.get(account, (0, 0))) for account in accounts]

    async def answers(self) -> bool:
        """Tell whether the database answers and has the schema."""
        try:
            async with self._database.session("usage_answers", SPENT_TIMEOUT_S) as connection:
                await connection.fetchval("select 1 from ledger.usage_day limit 1")
        except (StoreAway, *_REFUSALS):
            return False
        return True

    async def _rows(
        self, operation: str, timeout_s: float, statement: str, *arguments: object
    ) -> list[asyncpg.Record]:
        """Ask the database; what it refuses, for want of a right to read, is told as an outage: calls go on."""
        try:
            async with self._database.session(operation, timeout_s) as connection:
                rows: list[asyncpg.Record] = await connection.fetch(statement, *arguments)
        except StoreAway as error:
            raise LedgerAway from error
        except _REFUSALS as error:
            self._telemetry.event("error", f"{operation}_refused", kind=type(error).__name__)
            raise LedgerAway("refused") from error
        return rows

    async def _ensure_months(self) -> None:
        """Make the months to come; a failure is told, tried again in a while, and holds up no events."""
        now = asyncio.get_running_loop().time()
        if now < self._months_due_at:
            return
        self._months_due_at = now + MONTHS_EVERY_S
        try:
            async with self._database.transaction("usage_months", SEND_TIMEOUT_S / 2) as connection:
                await connection.execute("set local lock_timeout = '1s'")
                await connection.execute("select ledger.ensure_months()")
        except (StoreAway, *_REFUSALS):
            self._months_due_at = now + MONTHS_AGAIN_S
            self._telemetry.event("warning", "usage_months_not_made")


def _date(day: int) -> date:
    """Give a day as the database has it, within what it can have."""
    return date.fromordinal(max(1, min(day + EPOCH_ORDINAL, date.max.toordinal())))


def _row(row: asyncpg.Record, by: Sequence[Dimension]) -> UsageRow:
    width = len(by)
    group = tuple(value.isoformat() if isinstance(value, date) else str(value) for value in row[:width])
    return UsageRow(group, *(int(value) for value in row[width:]))


def _spent(account: str, today: int, day_picos: int, month_picos: int) -> Spent:
    return Spent(account, today, month_of(today), micros_up(day_picos), micros_up(month_picos))
