"""What a real Postgres says of sessions, and what can be done to them."""

import asyncio

import asyncpg
import pytest

from chaos.stand.sessions import POOL, sessions_of

WAITS_S = 5.0


async def joined(dsn: str, application: str) -> asyncpg.Connection:
    return await asyncpg.connect(dsn, server_settings={"application_name": application})


async def test_sessions_of_gateways_are_counted_and_no_others(postgres_dsn: str) -> None:
    opened = [await joined(postgres_dsn, name) for name in (POOL, f"{POOL}-feed", "psql")]
    async with sessions_of(postgres_dsn) as sessions:
        assert await sessions.count() == 2
    for each in opened:
        await each.close()


async def breaks(connection: asyncpg.Connection) -> None:
    with pytest.raises((asyncpg.AdminShutdownError, asyncpg.PostgresConnectionError)):
        await connection.execute("insert into audit default values")


async def test_whoever_waits_for_a_table_is_found_and_can_be_ended(postgres_dsn: str) -> None:
    connection = await joined(postgres_dsn, POOL)
    async with sessions_of(postgres_dsn) as sessions, asyncio.TaskGroup() as group:
        await sessions.lock("audit", "share")
        assert await sessions.count() == 1
        group.create_task(breaks(connection))
        waiting = await sessions.waiting("audit", WAITS_S)
        assert waiting == connection.get_server_pid()
        await sessions.end(waiting)
    assert connection.is_closed()


async def test_nobody_who_waits_is_waited_for_no_longer_than_told(postgres_dsn: str) -> None:
    async with sessions_of(postgres_dsn) as sessions:
        await sessions.lock("audit", "share")
        with pytest.raises(TimeoutError):
            await sessions.waiting("audit", 0.1)
