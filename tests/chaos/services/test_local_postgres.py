import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from chaos.services.local import Local
from chaos.services.service import Address, Postgres

FELT_S = 0.3
"""Beyond what an answer of this machine takes."""


@pytest.fixture
async def postgres() -> AsyncIterator[Postgres]:
    async with Local().postgres() as server:
        yield server


async def test_data_and_port_outlive_a_kill(postgres: Postgres) -> None:
    before = postgres.url()
    connection = await asyncpg.connect(before)
    await connection.execute("create table t as select 42 as x")
    await postgres.kill()
    connection.terminate()
    with pytest.raises(OSError):
        await asyncpg.connect(before)
    await postgres.start()
    assert postgres.url() == before
    connection = await asyncpg.connect(before)
    assert await connection.fetchval("select x from t") == 42
    await connection.close()


async def test_a_frozen_one_is_silent_and_answers_on_the_same_connection_after(postgres: Postgres) -> None:
    connection = await asyncpg.connect(postgres.url())
    await postgres.freeze()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(connection.fetchval("select 1"))
        done, _ = await asyncio.wait([asking], timeout=FELT_S)
        assert not done
        await postgres.thaw()
    assert asking.result() == 1
    await connection.close()


async def test_it_takes_no_stranger(postgres: Postgres) -> None:
    scheme, _, rest = postgres.url().partition("ktms:")
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(f"{scheme}ktms:guess{rest}")


async def test_a_url_may_lead_by_a_proxy_to_another_database(postgres: Postgres) -> None:
    assert postgres.url("x", through=Address("127.0.0.1", 9)).endswith("@127.0.0.1:9/x")


async def test_an_end_by_an_error_leaves_no_server() -> None:
    seen: list[Address] = []

    async def run() -> None:
        async with Local().postgres() as server:
            seen.append(server.address)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await run()
    with pytest.raises(OSError):
        await asyncio.open_connection(seen[0].host, seen[0].port)
