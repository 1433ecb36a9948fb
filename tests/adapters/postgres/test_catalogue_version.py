import asyncpg
import pytest

from ktms.adapters.postgres.catalogue_rows import lock_catalogue
from ktms.adapters.postgres.catalogue_version import move_on
from ktms.adapters.postgres.pool import Database


async def test_the_next_version_is_stored_with_its_time(database: Database, sql: asyncpg.Connection) -> None:
    before = await sql.fetchval("select changed_at from catalogue_version")
    async with database.transaction("test") as connection:
        assert await move_on(connection, await lock_catalogue(connection)) == 1
    row = await sql.fetchrow("select version, changed_at from catalogue_version")
    assert row is not None
    assert row["version"] == 1
    assert row["changed_at"] > before


async def test_a_step_that_is_rolled_back_leaves_the_version(database: Database, sql: asyncpg.Connection) -> None:
    with pytest.raises(ZeroDivisionError):
        await _move_on_and_fail(database)
    assert await sql.fetchval("select version from catalogue_version") == 0


async def _move_on_and_fail(database: Database) -> None:
    async with database.transaction("test") as connection:
        await move_on(connection, await lock_catalogue(connection))
        raise ZeroDivisionError
