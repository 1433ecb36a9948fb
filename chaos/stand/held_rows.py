"""Rows that somebody holds: whoever changes one waits in the middle of a transaction until they are let go.

Who waits is looked at on a connection of its own: within a transaction a server tells the same again and again.
Not here: who is killed meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

CONNECT_S = 5.0

HELD_S = 20.0
"""Longer than anybody holds them; a server that was killed meanwhile has let go by itself."""

LOOK_EVERY_S = 0.02

_WAITS = """
select exists(select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')
"""


class HeldRows:
    """All rows of one table, held."""

    def __init__(self, looking: asyncpg.Connection) -> None:
        self._looking = looking

    async def until_somebody_waits(self, within_s: float) -> bool:
        """Wait until a transaction waits for them; False: none does in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        found: bool = await self._looking.fetchval(_WAITS)
        while not found and loop.time() < deadline:
            await asyncio.sleep(LOOK_EVERY_S)
            found = await self._looking.fetchval(_WAITS)
        return found


@asynccontextmanager
async def held_rows(url: str, table: str) -> AsyncIterator[HeldRows]:
    """Hold all rows of a table while the block runs. `table` is a name of ours, and no input."""
    holding, looking = await _connected(url), await _connected(url)
    try:
        await holding.execute(f"begin; select from {table} for update")
        yield HeldRows(looking)
    finally:
        holding.terminate()
        looking.terminate()


async def _connected(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(url, timeout=CONNECT_S, command_timeout=HELD_S)
