"""News from other replicas by LISTEN, over a connection of its own.

The connection leads to the server itself (a pooler in transaction mode forgets who listens) and is asked for a
sign of life when it is silent, because a dead peer behind a firewall says nothing at all.
"""

import asyncio
from collections.abc import AsyncIterator

import asyncpg

from ktms.adapters.postgres.news import CATALOGUE_CHANNEL, KEY_CHANNEL
from ktms.adapters.postgres.pool import FAILURES, OPERATION_TIMEOUT_S, speaks_of_server
from ktms.domain.ids import KeyId
from ktms.ports.catalogue import StoreAway
from ktms.ports.change_feed import CatalogueChanged, KeyChanged, News

CONNECTIONS = 1
"""What a feed holds beside the pool; while one is opened anew the former has been cut."""

SILENCE_MAX_S = 10.0
"""After this much silence the server is asked for a sign of life; polling covers the time in between."""

WAITING_MAX = 1_000
"""News not yet taken; whoever is slower than that ends the feed and looks at everything afresh."""


class PostgresChangeFeed:
    """Hears NOTIFY (port: ChangeFeed)."""

    def __init__(
        self, dsn: str, *, timeout_s: float = OPERATION_TIMEOUT_S, silence_max_s: float = SILENCE_MAX_S
    ) -> None:
        self._dsn = dsn
        self._timeout_s = timeout_s
        self._silence_max_s = silence_max_s

    async def listen(self) -> AsyncIterator[News]:
        """Yield news until the connection is lost, then end.

        Raises:
            StoreAway: the feed cannot be opened right now.
        """
        heard = _Heard()
        connection = await self._open(heard)
        try:
            while True:
                news = await self._next(connection, heard)
                if news is None:
                    return
                yield news
        finally:
            connection.terminate()

    async def _open(self, heard: "_Heard") -> asyncpg.Connection:
        try:
            async with asyncio.timeout(self._timeout_s):
                connection = await asyncpg.connect(
                    self._dsn,
                    timeout=self._timeout_s,
                    statement_cache_size=0,
                    server_settings={"application_name": "ktms-feed"},
                )
                try:
                    connection.add_termination_listener(heard.lost)
                    for channel in (CATALOGUE_CHANNEL, KEY_CHANNEL):
                        await connection.add_listener(channel, heard.notified)
                except BaseException:
                    connection.terminate()
                    raise
        except FAILURES as error:
            if speaks_of_server(error):
                raise StoreAway(f"listen: the database does not answer ({type(error).__name__})") from error
            raise
        return connection

    async def _next(self, connection: asyncpg.Connection, heard: "_Heard") -> News | None:
        while True:
            try:
                async with asyncio.timeout(self._silence_max_s):
                    return await heard.next()
            except TimeoutError:
                if not await self._alive(connection):
                    return None

    async def _alive(self, connection: asyncpg.Connection) -> bool:
        # As in the pool: a hung server answers no cancellation, so it is the connection that ends.
        alarm = asyncio.get_running_loop().call_later(self._timeout_s, connection.terminate)
        try:
            await connection.fetchval("select 1")
        except FAILURES:
            return False
        finally:
            alarm.cancel()
        return True


class _Heard:
    """News in order; ends for good once the connection is lost or too much waits."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[News | None] = asyncio.Queue(WAITING_MAX + 1)

    async def next(self) -> News | None:
        return await self._waiting.get()

    def notified(self, _connection: asyncpg.Connection, _pid: int, channel: str, payload: str) -> None:
        if self._waiting.qsize() >= WAITING_MAX:
            self._end()
        else:
            self._waiting.put_nowait(
                CatalogueChanged() if channel == CATALOGUE_CHANNEL else KeyChanged(KeyId(payload))
            )

    def lost(self, _connection: asyncpg.Connection) -> None:
        self._end()

    def _end(self) -> None:
        if not self._waiting.full():  # full: the end already stands in it
            self._waiting.put_nowait(None)
