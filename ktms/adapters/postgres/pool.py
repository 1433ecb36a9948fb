"""Connections to Postgres: few, shared, and each use of one bounded.

Rules: the pool never grows past its bound and connects only when asked, so a start without a database succeeds; an
operation ends within its time whatever the server does; what goes wrong on the way becomes StoreAway, what the
server says about our statement stays as it is.

An operation that runs out of time loses its connection (`terminate`) instead of being cancelled: asyncpg answers a
cancellation with a cancel request on a second connection and then waits for the first one, which a hung server
never ends (failures: FP3).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg

from ktms.ports.catalogue import StoreAway

CONNECTIONS_MAX = 25
"""What one machine may take of the server's connections (failures: FP10)."""

OPERATION_TIMEOUT_S = 3.0
"""A verification waits this long in all: place in the pool, connecting, asking (failures: FP3)."""

RELEASE_TIMEOUT_S = 1.0
"""Giving a sound connection back sends nothing; a broken one is dropped."""

IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000
"""A replica frozen in the middle of a change must not hold the catalogue's lock for the others."""

WATCH_CLIENT = "select set_config('client_connection_check_interval', '250ms', false)"
"""Lets the server end what waits for a lock as soon as we hung up on it (FP10).

Else what was given up stays on the server for as long as the lock is held, and each round of look-ups adds as
many connections as the pool has.
"""

PREPARED_MAX = 100
"""Statements kept prepared per connection: there are fewer in all."""

_AWAY_STATES = ("08", "25006", "28", "3D", "40", "53", "55P03", "57", "58", "XX")
"""SQLSTATE beginnings that speak of the server's state, not of our statement: connection, read-only after
failover, credentials, no such database, rolled back, no resources, lock not available, shutdown or cancelled,
system, internal."""

_SCHEMA_LACKS = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError)
"""Our statements name only what our migrations make: this replica, or another one, has not come to them yet."""


class Database:
    """The pool. `through_pooler`: PgBouncer in transaction mode stands between, so no statement stays prepared."""

    def __init__(
        self,
        dsn: str,
        *,
        connections_max: int = CONNECTIONS_MAX,
        timeout_s: float = OPERATION_TIMEOUT_S,
        through_pooler: bool = False,
    ) -> None:
        assert 1 <= connections_max <= CONNECTIONS_MAX, "the bound is shared by all workers of a machine"
        self._dsn = dsn
        self._connections_max = connections_max
        self._timeout_s = timeout_s
        self._through_pooler = through_pooler
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> None:
        """Make the pool ready; connects to nothing yet."""
        assert self._pool is None, "opened once"
        settings = {"application_name": "ktms"}
        if not self._through_pooler:  # a pooler refuses start-up settings it does not know
            settings["idle_in_transaction_session_timeout"] = str(IDLE_IN_TRANSACTION_TIMEOUT_MS)
        self._pool = await asyncpg.create_pool(
            self._dsn,
            min_size=0,
            max_size=self._connections_max,
            timeout=self._timeout_s,
            statement_cache_size=0 if self._through_pooler else PREPARED_MAX,
            server_settings=settings,
            init=None if self._through_pooler else _watch_client,
            reset=_keep_as_is,
        )

    async def close(self) -> None:
        """Close all connections, those in use too; twice is harmless."""
        if self._pool is not None:
            self._pool.terminate()
            self._pool = None

    @asynccontextmanager
    async def session(self, operation: str, timeout_s: float | None = None) -> AsyncIterator[asyncpg.Connection]:
        """Lend a connection for one operation that ends within `timeout_s` (None: the pool's), waiting included.

        Raises:
            StoreAway: no connection in time, or it broke (whether a commit under way took place is then unknown),
                or the schema is not ours yet.
        """
        if self._pool is None:  # a caller that outlived a stop finds no database, like any other
            raise StoreAway(f"{operation}: the pool is not open")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (timeout_s or self._timeout_s)
        try:
            connection = await self._pool.acquire(timeout=deadline - loop.time())
            alarm = loop.call_at(deadline, connection.terminate)
            try:
                yield connection
            except asyncio.CancelledError:
                connection.terminate()
                raise
            finally:
                alarm.cancel()
                await self._pool.release(connection, timeout=RELEASE_TIMEOUT_S)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            if speaks_of_server(error):
                raise StoreAway(f"{operation}: the database does not answer ({type(error).__name__})") from error
            if isinstance(error, _SCHEMA_LACKS):
                raise StoreAway(f"{operation}: the schema is not migrated yet ({type(error).__name__})") from error
            raise

    @asynccontextmanager
    async def transaction(
        self, operation: str, timeout_s: float | None = None, *, snapshot: bool = False
    ) -> AsyncIterator[asyncpg.Connection]:
        """Lend a connection inside a transaction: committed at the end, rolled back when anything is raised.

        `snapshot` makes it read only, and all of its statements see one moment.

        Raises:
            StoreAway: as `session`.
        """
        async with self.session(operation, timeout_s) as connection:
            work = connection.transaction(isolation="repeatable_read" if snapshot else None, readonly=snapshot)
            await work.start()
            try:
                yield connection
            except asyncio.CancelledError:
                raise  # the session drops the connection, and the server rolls back
            except BaseException:
                await _roll_back(connection, work)
                raise
            await work.commit()


@asynccontextmanager
async def open_database(dsn: str, *, connections_max: int = CONNECTIONS_MAX) -> AsyncIterator[Database]:
    """Open the pool, which connects only when asked, and close it in the same block."""
    database = Database(dsn, connections_max=connections_max)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


def speaks_of_server(error: BaseException) -> bool:
    """Whether an error tells about the server or the way to it, not about our statement."""
    if isinstance(error, asyncpg.PostgresError):
        return str(error.sqlstate or "").startswith(_AWAY_STATES)
    if isinstance(error, asyncpg.InterfaceError):
        return not isinstance(error, asyncpg.DataError | asyncpg.exceptions.UnsupportedClientFeatureError)
    return isinstance(error, OSError | TimeoutError | ssl.SSLError)


async def _roll_back(connection: asyncpg.Connection, work: asyncpg.transaction.Transaction) -> None:
    """Roll back; where that fails the connection is dropped, so that the server does it."""
    try:
        await work.rollback()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()


async def _watch_client(connection: asyncpg.Connection) -> None:
    """Have the server look whether we are still there; one that cannot (before 14, other systems) does without."""
    with suppress(asyncpg.UndefinedObjectError, asyncpg.InvalidParameterValueError):
        await connection.execute(WATCH_CLIENT)


async def _keep_as_is(_connection: asyncpg.Connection) -> None:
    """Reset nothing: no statement of ours leaves a trace in the session, and a reset costs a round trip."""
