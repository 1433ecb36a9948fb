"""What Postgres itself says of the gateways' sessions, and what an operator may do: lock a table, end a session.

Connections of its own, past every proxy: one looks, the other holds, since in a transaction what is looked at
stands still. Not here: breaking the server (`services/service.py`).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

CONNECT_S = 5.0

ASK_S = 5.0
"""A look at sessions takes milliseconds, and locks that others hold do not touch it."""

POOL = "ktms"
"""Begins the application name of a gateway's sessions; those of its pool are called so."""

LOOK_EVERY_S = 0.02

_COUNT = """
select count(*)::int from pg_stat_activity where datname = current_database() and application_name like $1
"""

_WAITING = """
select pid from pg_stat_activity
where datname = current_database() and application_name = $1 and wait_event_type = 'Lock' and query ilike $2
"""


class Sessions:
    """Made by `sessions_of`; locks are held until its block ends or `unlock`."""

    def __init__(self, looker: asyncpg.Connection, holder: asyncpg.Connection) -> None:
        self._looker = looker
        self._holder = holder

    async def count(self) -> int:
        """Count the sessions of gateways in this database, those that wait for news too."""
        return int(await self._looker.fetchval(_COUNT, f"{POOL}%"))

    async def lock(self, table: str, mode: str = "access exclusive") -> None:
        """Hold a table, so that others wait for it."""
        await self._holder.execute("begin")
        await self._holder.execute(f'lock table "{table}" in {mode} mode')

    async def unlock(self) -> None:
        """Let go of all tables."""
        await self._holder.execute("rollback")

    async def waiting(self, word: str, within_s: float) -> int:
        """Wait until a session waits for a lock in a statement that has this word, and give its number.

        Raises:
            TimeoutError: none does in time.
        """
        async with asyncio.timeout(within_s):
            while True:
                found = await self._looker.fetchval(_WAITING, POOL, f"%{word}%")
                if found is not None:
                    return int(found)
                await asyncio.sleep(LOOK_EVERY_S)

    async def end(self, session: int) -> None:
        """End a session as a failover does: its connection breaks, what it had begun is undone."""
        await self._looker.execute("select pg_terminate_backend($1)", session)


@asynccontextmanager
async def sessions_of(url: str) -> AsyncIterator[Sessions]:
    """Look at the sessions of a database while the block runs; its server may die meanwhile."""
    looker = await asyncpg.connect(url, timeout=CONNECT_S, command_timeout=ASK_S)
    try:
        holder = await asyncpg.connect(url, timeout=CONNECT_S, command_timeout=ASK_S)
        try:
            yield Sessions(looker, holder)
        finally:
            holder.terminate()
    finally:
        looker.terminate()
