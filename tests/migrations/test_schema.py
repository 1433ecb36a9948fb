"""What the schema itself holds against mistakes and old writers."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from ktms.adapters.envelope.keyring_secrets import SEALED_ANSWER_BYTES_MAX, SEALED_BYTES_MAX


@pytest.fixture
async def sql(postgres_dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres_dsn)
    yield connection
    await connection.close()


async def test_the_default_tenant_is_there_from_the_start(sql: asyncpg.Connection) -> None:
    assert [row["name"] for row in await sql.fetch("select name from tenant")] == ["default"]


@pytest.mark.parametrize("table", ["encryption_state", "catalogue_version", "policy"])
async def test_what_there_is_one_of_cannot_be_doubled(sql: asyncpg.Connection, table: str) -> None:
    values = {"encryption_state": "(2, 'k', 1)", "catalogue_version": "(2, 0)", "policy": "(2, '{}')"}
    await sql.execute("insert into encryption_key values ('k', '\\x0102030405060708')")
    with pytest.raises(asyncpg.CheckViolationError):
        await sql.execute(f"insert into {table} values {values[table]}")  # noqa: S608  # constants above


async def test_a_name_is_used_by_one_live_key_and_any_number_of_revoked_ones(sql: asyncpg.Connection) -> None:
    insert = (
        "insert into client_key (id, key_id, digest, name, tenant_id, spec, position, revoked_at) "
        "select gen_random_uuid(), $1, sha256(convert_to($1, 'UTF8')), 'app', id, '{}', 0, $2 from tenant"
    )
    await sql.execute(insert, "a", None)
    await sql.execute("update client_key set revoked_at = now()")
    await sql.execute(insert, "b", None)
    with pytest.raises(asyncpg.UniqueViolationError):
        await sql.execute(insert, "c", None)


async def test_a_price_keeps_every_digit(sql: asyncpg.Connection) -> None:
    text = "0.123456789012345678901234567890"
    await sql.execute(
        f"insert into price values (gen_random_uuid(), 'v', 'm', {text}, null, null, 0, 0)"  # noqa: S608  # constant
    )
    assert str(await sql.fetchval("select input from price")) == text


async def test_a_negative_price_is_refused(sql: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await sql.execute("insert into price values (gen_random_uuid(), 'v', 'm', 0, -1, null, 0, 0)")


async def test_a_target_has_one_price_for_each_moment(sql: asyncpg.Connection) -> None:
    insert = "insert into dated_price values (gen_random_uuid(), 'v', 'm', to_timestamp($1), 0, null, null, 0, 0)"
    await sql.execute(insert, 0)
    await sql.execute(insert, 1)
    with pytest.raises(asyncpg.UniqueViolationError):
        await sql.execute(insert, 1)


async def test_a_negative_price_with_a_moment_is_refused(sql: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await sql.execute("insert into dated_price values (gen_random_uuid(), 'v', 'm', now(), 0, -1, null, 0, 0)")


@pytest.mark.parametrize(
    ("domain", "largest"), [("ktms_ciphertext", SEALED_BYTES_MAX), ("ktms_sealed_answer", SEALED_ANSWER_BYTES_MAX)]
)
async def test_what_cannot_be_an_envelope_is_refused(sql: asyncpg.Connection, domain: str, largest: int) -> None:
    for size in (78, largest + 1):
        with pytest.raises(asyncpg.CheckViolationError, match=f"{domain}_size"):
            await sql.fetchval(f"select $1::bytea::{domain}", bytes(size))
    for size in (79, largest):
        assert await sql.fetchval(f"select octet_length($1::bytea::{domain})", bytes(size)) == size


async def test_every_reference_between_tables_has_an_index(sql: asyncpg.Connection) -> None:
    """Without one, each removal over there reads the whole table here; small key tables are exempt."""
    found = await sql.fetch(
        "select conrelid::regclass::text as table, attname as column from pg_constraint "
        "join pg_attribute on attrelid = conrelid and attnum = conkey[1] "
        "where contype = 'f' and confrelid <> 'encryption_key'::regclass and not exists ("
        "select from pg_index where indrelid = conrelid and indkey[0] = conkey[1])"
    )
    assert [tuple(row) for row in found] == []
