"""Ledgers of every kind behind one shape: in memory, in a world, on Postgres, over gRPC to a real server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from ktms.adapters.grpc.ledger_client import GrpcLedger
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.pool import open_database
from ktms.adapters.postgres.usage_ledger import PostgresUsageLedger
from ktms.app.books import Book
from ktms.config.address import Address
from ktms.ledger.server import LedgerServer, Listen
from ktms.ledger.service import LedgerService
from sim.fakes.ledger import LedgerLine, SimLedger
from sim.journal.journal import Journal
from sim.seed import Seed
from sim.trace import Trace


@dataclass(frozen=True, slots=True)
class Books:
    """One ledger. `now_s` is its wall clock; `take_away` lets nobody reach it any more."""

    book: Book
    now_s: Callable[[], Awaitable[float]]
    take_away: Callable[[], Awaitable[None]]


@asynccontextmanager
async def books_in_memory() -> AsyncIterator[Books]:
    ledger = MemoryLedger()

    async def take_away() -> None:
        ledger.away = "away"

    yield Books(ledger, _wall_of(ledger), take_away)


@asynccontextmanager
async def books_in_a_world() -> AsyncIterator[Books]:
    journal = Journal(lambda: 0.0)
    ledger = SimLedger(Seed(1).chance("ledger"), journal, Trace())

    async def take_away() -> None:
        ledger.mode("ledger_away", on=True)

    yield Books(LedgerLine("gw1", ledger, journal), _wall_of(ledger.book), take_away)


@asynccontextmanager
async def books_on_postgres(
    gated_dsn: str, dsn: str, close: Callable[[], Awaitable[None]]
) -> AsyncIterator[Books]:
    async with _opened(gated_dsn) as ledger:
        yield Books(ledger, _wall_at(dsn), close)


@asynccontextmanager
async def books_over_grpc(dsn: str) -> AsyncIterator[Books]:
    """A server in this process, and a client that reaches it over a real port."""
    async with _opened(dsn) as ledger:
        server = LedgerServer(Listen(Address("127.0.0.1", 0)), LedgerService(ledger, MemoryTelemetry()))
        await server.start()
        client = GrpcLedger(f"127.0.0.1:{server.port}")

        async def take_away() -> None:
            await server.stop(0)

        try:
            yield Books(client, _wall_at(dsn), take_away)
        finally:
            await client.close()
            await server.stop(0)


@asynccontextmanager
async def _opened(dsn: str) -> AsyncIterator[PostgresUsageLedger]:
    async with open_database(dsn) as database:
        yield PostgresUsageLedger(database, MemoryTelemetry())


def _wall_of(ledger: MemoryLedger) -> Callable[[], Awaitable[float]]:
    async def now_s() -> float:
        return ledger.wall()

    return now_s


def _wall_at(dsn: str) -> Callable[[], Awaitable[float]]:
    async def now_s() -> float:
        connection = await asyncpg.connect(dsn)
        try:
            return float(await connection.fetchval("select extract(epoch from now())"))
        finally:
            await connection.close()

    return now_s
