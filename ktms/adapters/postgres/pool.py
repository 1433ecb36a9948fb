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
from dataclasses import dataclass

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

SERVER_LOOKS_MS = 250

WATCH_CLIENT = f"select set_config('client_connection_check_interval', '{SERVER_LOOKS_MS}ms', false)"
"""Lets the server end what waits for a lock as soon as we hung up on it (FP10).

Else what was given up stays on the server for as long as the lock is held, and each round of look-ups adds as
many connections as the pool has.
"""

PARTING_S = 2 * SERVER_LOOKS_MS / 1000
"""The place of a connection that we hung up on is free once the server has seen it: so much later.

Else the server has twice as many of our sessions as the pool has places (FP10).
"""

BRIEF_S = SERVER_LOOKS_MS / 1000
"""Whoever leaves sooner waited for no lock, its session ends at once: nobody keeps places from others so."""

PREPARED_MAX = 100
"""Statements kept prepared per connection: there are fewer in all."""

_AWAY_STATES = ("08", "25006", "25P03", "25P04", "28", "3D", "40", "53", "55P03", "57", "58", "XX")
"""SQLSTATE beginnings that speak of the server's state, not of our statement: connection, read-only after
failover, ended while idle or too long in a transaction, credentials, no such database, rolled back, no resources,
lock not available, shutdown or cancelled, system, internal."""

FAILURES = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""All that a connection fails with. The last is what asyncpg did not foresee: a server that leaves with its first
word, right after it has let us in, is told so."""

_SCHEMA_LACKS = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.InvalidCachedStatementError)
"""Our statements name only what our migrations make: this replica, or another one, has not come to them yet, or is
at it right now: then a plan that was kept no longer fits within a transaction."""


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
        self._places = asyncio.Semaphore(connections_max)
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
        pool = self._pool
        if pool is None:  # a caller that outlived a stop finds no database, like any other
            raise StoreAway(f"{operation}: the pool is not open")
        deadline = asyncio.get_running_loop().time() + (timeout_s or self._timeout_s)
        try:
            async with self._place(deadline) as place, _lent(pool, place) as connection:
                yield connection
        except FAILURES as error:
            if speaks_of_server(error):
                raise StoreAway(f"{operation}: the database does not answer ({type(error).__name__})") from error
            if isinstance(error, _SCHEMA_LACKS):
                raise StoreAway(f"{operation}: the schema is not migrated yet ({type(error).__name__})") from error
            raise

    @asynccontextmanager
    async def _place(self, deadline: float) -> AsyncIterator["_Place"]:
        """Take a place in the pool, and give it back when the server has none of it any more."""
        async with asyncio.timeout_at(deadline):
            await self._places.acquire()
        place = _Place(deadline)
        try:
            yield place
        finally:
            if place.parts:
                asyncio.get_running_loop().call_later(PARTING_S, self._places.release)
            else:
                self._places.release()

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


@dataclass(slots=True)
class _Place:
    """A place in the pool while an operation has it. `parts`: the server may not have seen yet that we hung up."""

    deadline: float
    parts: bool = False

    def hang_up(self, connection: asyncpg.Connection, *, parts: bool = True) -> None:
        self.parts = self.parts or parts
        connection.terminate()


@asynccontextmanager
async def _lent(pool: asyncpg.Pool, place: _Place) -> AsyncIterator[asyncpg.Connection]:
    """Lend a connection until the deadline of its place; then, or where its user leaves, hang up on it."""
    loop = asyncio.get_running_loop()
    connection = await pool.acquire(timeout=place.deadline - loop.time())
    lent_at = loop.time()
    alarm = loop.call_at(place.deadline, place.hang_up, connection)
    try:
        yield connection
    except asyncio.CancelledError:
        place.hang_up(connection, parts=loop.time() - lent_at > BRIEF_S)
        raise
    except asyncpg.InternalClientError:
        place.hang_up(connection, parts=False)  # nobody knows what state it is in
        raise
    finally:
        alarm.cancel()
        await pool.release(connection, timeout=RELEASE_TIMEOUT_S)


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
    return isinstance(error, OSError | TimeoutError | ssl.SSLError | asyncpg.InternalClientError)


async def _roll_back(connection: asyncpg.Connection, work: asyncpg.transaction.Transaction) -> None:
    """Roll back; where that fails the connection is dropped, so that the server does it."""
    try:
        await work.rollback()
    except FAILURES:
        connection.terminate()


async def _watch_client(connection: asyncpg.Connection) -> None:
    """Have the server look whether we are still there; one that cannot (before 14, other systems) does without."""
    with suppress(asyncpg.UndefinedObjectError, asyncpg.InvalidParameterValueError):
        await connection.execute(WATCH_CLIENT)


async def _keep_as_is(_connection: asyncpg.Connection) -> None:
    """Reset nothing: no statement of ours leaves a trace in the session, and a reset costs a round trip."""
