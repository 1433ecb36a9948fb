"""Bringing the database's schema to what this code needs, while other replicas do the same.

Rules: forward only; one runner at a time, found by *polling* an advisory lock (a blocked waiter would hold a
snapshot, with which CREATE INDEX CONCURRENTLY of the holder deadlocks); the lock belongs to a session, so the
connection must be to the server itself; each file in its own transaction with a short lock timeout, repeated a few
times, so that a long SELECT of somebody never queues the whole traffic behind us; files are frozen once applied
(SHA-256); a killed runner leaves nothing but applied files, and the next one goes on.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from ktms.adapters.postgres.migration_files import Migration
from ktms.adapters.postgres.pool import FAILURES, speaks_of_server
from ktms.ports.catalogue import StoreAway
from ktms.ports.entropy import Entropy
from ktms.ports.telemetry import Telemetry

LOCK_ID = 0x6B746D735F6D6967
"""Ours among the advisory locks of a database: the letters "ktms_mig"."""

CONNECT_TIMEOUT_S = 5.0
"""A reachable server answers far sooner; a start without one is repeated by whoever starts us."""

LOCK_WAIT_S = 300.0
"""Longest wait for another runner: the time a big index may take."""

LOCK_POLL_S = 0.5
"""Plus up to as much again by chance, so that replicas do not ask in step."""

LOCK_TIMEOUT_MS = 2_000
"""How long a file may wait for a table, and so hold up whoever comes after it."""

OUTSIDE_LOCK_TIMEOUT_MS = 60_000
"""Building an index concurrently waits for old transactions, and nobody queues behind it meanwhile."""

ROUNDS_MAX = 30
"""Rounds per file before giving up: about a minute and a half of somebody's long transaction."""

ROUND_PAUSE_S = 1.0
"""Lets the traffic through that queued behind us."""

_REPEATABLE = ("55P03", "40P01")  # lock not available, deadlock detected

_CONCURRENT_INDEX = re.compile(
    r"create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?\"?(\w+)", re.IGNORECASE
)


class MigrationRefused(Exception):
    """The schema cannot be brought to what is needed; the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class Book:
    """Where it is written which files were applied: a table, and what has to be there before it."""

    table: str
    before: str = ""


CATALOGUE_BOOK = Book("ktms_migration")
LEDGER_BOOK = Book("ledger.migration", "create schema if not exists ledger")
"""The ledger may lie in a database of its own: its files have numbers and a book of their own."""


@dataclass(frozen=True, slots=True)
class _Applied:
    number: int
    name: str
    sha256: bytes
    min_compatible: int


class Migrator:
    """Applies migrations to one database. `dsn` leads to the server itself, never through a pooler."""

    def __init__(
        self,
        dsn: str,
        migrations: Sequence[Migration],
        *,
        app_version: str,
        entropy: Entropy,
        telemetry: Telemetry,
        book: Book = CATALOGUE_BOOK,
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        self._dsn = dsn
        self._migrations = migrations
        self._app_version = app_version
        self._entropy = entropy
        self._telemetry = telemetry
        self._book = book
        self._lock_wait_s = lock_wait_s

    async def check(self) -> tuple[str, ...]:
        """Give the names of the files that are not applied yet; changes nothing.

        Raises:
            StoreAway: the database does not answer.
            MigrationRefused: an applied file differs from ours, or the schema is too new for this code.
        """
        async with self._connected() as connection:
            return tuple(migration.name for migration in await self._pending(connection))

    async def run(self) -> tuple[str, ...]:
        """Apply what is missing and give the names applied by us; returns when the schema is up to date.

        Raises:
            StoreAway: the database does not answer, or went away; what was applied stays applied.
            MigrationRefused: as `check`; or the lock or a table cannot be had, or a pooler stands between.
        """
        async with self._connected() as connection:
            if not await self._pending(connection):
                return ()
            await _refuse_pooler(connection)
            async with self._locked(connection):
                await connection.execute(f"{self._book.before}; {_CREATE_BOOK.format(self._book.table)}")
                done: list[str] = []
                for migration in await self._pending(connection):
                    await _check_lock(connection)
                    await self._apply(connection, migration)
                    done.append(migration.name)
                return tuple(done)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncpg.Connection]:
        try:
            connection = await asyncpg.connect(
                self._dsn,
                timeout=CONNECT_TIMEOUT_S,
                statement_cache_size=0,
                server_settings={"application_name": f"ktms-migrate/{self._app_version}"},
            )
            try:
                yield connection
            finally:
                connection.terminate()  # the server lets go of the lock by itself
        except FAILURES as error:
            if speaks_of_server(error):
                raise StoreAway(f"migrate: the database does not answer ({type(error).__name__})") from error
            raise

    async def _pending(self, connection: asyncpg.Connection) -> tuple[Migration, ...]:
        applied = await _applied(connection, self._book.table)
        ours = {migration.number: migration for migration in self._migrations}
        newest = self._migrations[-1].number
        for entry in applied:
            known = ours.get(entry.number)
            if known is None and newest < entry.min_compatible:
                raise MigrationRefused(
                    f"the database has the schema {entry.name}, which gateways older than "
                    f"{entry.min_compatible:04d} cannot use (this one knows {newest:04d}): run a newer version, "
                    "or restore the backup taken before the upgrade"
                )
            if known and (known.sha256, known.name) != (entry.sha256, entry.name):
                raise MigrationRefused(
                    f"the migration {entry.name} was applied with another content than the file {known.name} of "
                    "this version: released files never change; run the version that applied it"
                )
        done = {entry.number for entry in applied}
        return tuple(migration for migration in self._migrations if migration.number not in done)

    @asynccontextmanager
    async def _locked(self, connection: asyncpg.Connection) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._lock_wait_s):
                while not await connection.fetchval("select pg_try_advisory_lock($1)", LOCK_ID):
                    holder = await connection.fetchval(_HOLDER, LOCK_ID >> 32, LOCK_ID & 0xFFFFFFFF)
                    self._telemetry.event("info", "migration_waits", holder=holder)
                    await asyncio.sleep(LOCK_POLL_S + self._entropy.uniform(0, LOCK_POLL_S))
        except TimeoutError as error:
            raise MigrationRefused(
                f"another process has held the migration lock for {self._lock_wait_s:.0f} s: see pg_locks, "
                "end it if it is stuck, and start again"
            ) from error
        yield
        if not await connection.fetchval("select pg_advisory_unlock($1)", LOCK_ID):
            raise MigrationRefused(_LOST_LOCK)

    async def _apply(self, connection: asyncpg.Connection, migration: Migration) -> None:
        self._telemetry.event("info", "migration_begins", file=migration.name)
        for _ in range(ROUNDS_MAX):
            try:
                if migration.outside:
                    await self._apply_outside(connection, migration)
                else:
                    await self._apply_inside(connection, migration)
            except asyncpg.PostgresError as error:
                if error.sqlstate not in _REPEATABLE:
                    raise _refusal(migration, error) from error
                self._telemetry.event("warning", "migration_repeats", file=migration.name, reason=str(error))
                await asyncio.sleep(ROUND_PAUSE_S + self._entropy.uniform(0, ROUND_PAUSE_S))
            else:
                self._telemetry.event("info", "migration_done", file=migration.name)
                return
        raise MigrationRefused(
            f"{migration.name} found its tables locked {ROUNDS_MAX} times: end the long transactions, start again"
        )

    async def _apply_inside(self, connection: asyncpg.Connection, migration: Migration) -> None:
        async with connection.transaction():
            await connection.execute("select set_config('lock_timeout', $1, true)", f"{LOCK_TIMEOUT_MS}ms")
            await connection.execute(migration.sql)
            await self._record(connection, migration)

    async def _apply_outside(self, connection: asyncpg.Connection, migration: Migration) -> None:
        await connection.execute("select set_config('lock_timeout', $1, false)", f"{OUTSIDE_LOCK_TIMEOUT_MS}ms")
        for statement in migration.statements:
            for index in _CONCURRENT_INDEX.findall(statement):
                await _drop_invalid(connection, index)
            await connection.execute(statement)
        await self._record(connection, migration)

    async def _record(self, connection: asyncpg.Connection, migration: Migration) -> None:
        await connection.execute(
            f"insert into {self._book.table} (number, name, sha256, min_compatible, app_version) "  # noqa: S608
            "values ($1, $2, $3, $4, $5)",
            migration.number,
            migration.name,
            migration.sha256,
            migration.min_compatible,
            self._app_version,
        )


_CREATE_BOOK = """
create table if not exists {} (
    number bigint primary key,
    name text not null,
    sha256 bytea not null,
    min_compatible bigint not null,
    app_version text not null,
    applied_at timestamptz not null default now()
)
"""

_HOLDER = """
select concat_ws(' ', holder.application_name, holder.client_addr, holder.pid)
from pg_locks as held join pg_stat_activity as holder on holder.pid = held.pid
where held.locktype = 'advisory' and held.granted
and held.classid::bigint = $1 and held.objid::bigint = $2 and held.objsubid = 1
limit 1
"""

_LOST_LOCK = (
    "the migration lock was lost between two statements: a pooler in transaction mode stands before the database; "
    "set KTMS_DATABASE_DIRECT_URL to the server itself"
)


def _refusal(migration: Migration, error: asyncpg.PostgresError) -> Exception:
    if speaks_of_server(error):
        return StoreAway(f"migrate: the database went away during {migration.name} ({type(error).__name__})")
    return MigrationRefused(f"{migration.name} failed and was rolled back: {error}")


async def _applied(connection: asyncpg.Connection, table: str) -> list[_Applied]:
    if await connection.fetchval("select to_regclass($1)", table) is None:
        return []
    rows = await connection.fetch(
        f"select number, name, sha256, min_compatible from {table} order by number"  # noqa: S608  # a name of ours
    )
    return [_Applied(row["number"], row["name"], row["sha256"], row["min_compatible"]) for row in rows]


async def _refuse_pooler(connection: asyncpg.Connection) -> None:
    """Compare the process id the handshake told with the one the server tells: a pooler makes up its own."""
    if await connection.fetchval("select pg_backend_pid()") != connection.get_server_pid():
        raise MigrationRefused(
            "a connection pooler stands before the database, through which the migration lock cannot be held: "
            "set KTMS_DATABASE_DIRECT_URL to the server itself"
        )


async def _check_lock(connection: asyncpg.Connection) -> None:
    owned = await connection.fetchval(
        "select exists (select from pg_locks where locktype = 'advisory' and granted and pid = pg_backend_pid() "
        "and classid::bigint = $1 and objid::bigint = $2 and objsubid = 1)",
        LOCK_ID >> 32,
        LOCK_ID & 0xFFFFFFFF,
    )
    if not owned:
        raise MigrationRefused(_LOST_LOCK)


async def _drop_invalid(connection: asyncpg.Connection, index: str) -> None:
    """Remove what an interrupted concurrent build left: `if not exists` would take it for done."""
    invalid = await connection.fetchval(
        "select format('drop index concurrently if exists %I.%I', place.nspname, named.relname) "
        "from pg_index join pg_class as named on named.oid = pg_index.indexrelid "
        "join pg_namespace as place on place.oid = named.relnamespace "
        "where not pg_index.indisvalid and named.relname = lower($1) and pg_table_is_visible(named.oid)",
        index,
    )
    if invalid:
        await connection.execute(invalid)
