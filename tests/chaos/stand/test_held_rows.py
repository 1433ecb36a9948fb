import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from chaos.services.local import Local
from chaos.services.service import Postgres
from chaos.stand.held_rows import held_rows

SOON_S, NEVER_S = 10.0, 0.1


@pytest.fixture
async def postgres() -> AsyncIterator[Postgres]:
    async with Local().postgres() as server:
        yield server


@pytest.fixture
async def writer(postgres: Postgres) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres.url())
    await connection.execute("create table sums as select 1 as x")
    yield connection
    connection.terminate()


async def test_who_changes_a_held_row_waits_until_it_is_let_go(
    postgres: Postgres, writer: asyncpg.Connection
) -> None:
    async with asyncio.TaskGroup() as group, held_rows(postgres.url(), "sums") as held:
        assert not await held.until_somebody_waits(NEVER_S)
        writing = group.create_task(writer.execute("update sums set x = x + 1"))
        assert await held.until_somebody_waits(SOON_S)
        assert not writing.done()
    assert await writer.fetchval("select x from sums") == 2


async def test_a_server_that_dies_meanwhile_forgets_what_waited(
    postgres: Postgres, writer: asyncpg.Connection
) -> None:
    async with held_rows(postgres.url(), "sums") as held:
        writing = asyncio.ensure_future(writer.execute("update sums set x = 5"))  # noqa: TID251  # it dies
        assert await held.until_somebody_waits(SOON_S)
        await postgres.kill()
        await postgres.start()
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await writing
    after = await asyncpg.connect(postgres.url())
    assert await after.fetchval("select x from sums") == 1
    await after.close()
