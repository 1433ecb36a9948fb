"""What only the real store does; the rest is in tests/contracts."""

from typing import Any

import asyncpg

from ktms.adapters.postgres.key_rows import LIST, client_key_of
from ktms.adapters.postgres.key_store import PostgresKeyStore
from ktms.adapters.postgres.key_writing import insert_client_key, revoke_client_key, update_client_key
from ktms.adapters.postgres.news import CATALOGUE_CHANNEL, KEY_CHANNEL, tell_catalogue_changed
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.key_form import digest_of
from ktms.domain.catalogue import ClientKeySpec
from ktms.domain.ids import KeyId
from ktms.ports.entropy import Entropy

TENANT = "select id from tenant where name = 'default'"


async def test_any_number_of_keys_is_one_statement(postgres_dsn: str) -> None:
    database = Database(postgres_dsn, connections_max=1)
    await database.open()
    asked: list[str] = []
    async with database.session("watch") as connection:
        connection.add_query_logger(lambda record: asked.append(record.query))
    await PostgresKeyStore(database).find([KeyId(f"{n:010}") for n in range(500)])
    assert len(asked) == 1
    await database.close()


async def test_only_the_digest_of_a_token_is_stored(sql: asyncpg.Connection, entropy: Entropy) -> None:
    tenant = await sql.fetchval(TENANT)
    text, token = await insert_client_key(sql, entropy, ClientKeySpec("app", "default"), tenant, 0)
    row = await sql.fetchrow("select key_id, digest from client_key")
    assert tuple(row) == (text.id, digest_of(token))


async def test_changing_and_revoking_find_the_live_key_of_a_name(
    sql: asyncpg.Connection, entropy: Entropy
) -> None:
    tenant = await sql.fetchval(TENANT)
    for _ in range(2):
        await insert_client_key(sql, entropy, ClientKeySpec("app", "default"), tenant, 0)
        await update_client_key(sql, ClientKeySpec("app", "default", interactive=True), tenant, 3)
        await revoke_client_key(sql, "app")
    await insert_client_key(sql, entropy, ClientKeySpec("app", "default"), tenant, 0)
    keys = [client_key_of(row) for row in await sql.fetch(LIST)]
    assert sorted((key.revoked, key.interactive) for key in keys) == [(False, False), (True, True), (True, True)]


async def test_news_are_told_when_the_change_is_committed_and_only_then(
    sql: asyncpg.Connection, postgres_dsn: str, entropy: Entropy
) -> None:
    heard: list[tuple[str, str]] = []

    def hear(_connection: Any, _pid: int, channel: str, payload: str) -> None:
        heard.append((channel, payload))

    listener = await asyncpg.connect(postgres_dsn)
    for channel in (CATALOGUE_CHANNEL, KEY_CHANNEL):
        await listener.add_listener(channel, hear)
    tenant = await sql.fetchval(TENANT)
    text, _ = await insert_client_key(sql, entropy, ClientKeySpec("app", "default"), tenant, 0)
    for end in ("rollback", "commit"):
        change = sql.transaction()
        await change.start()
        await revoke_client_key(sql, "app")
        await tell_catalogue_changed(sql, 4)
        await getattr(change, end)()
        await listener.fetchval("select 1")
        assert heard == ([] if end == "rollback" else [(KEY_CHANNEL, text.id), (CATALOGUE_CHANNEL, "4")])
    await listener.close()
