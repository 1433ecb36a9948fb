"""What Postgres is asked to write of announcements, beyond the contract."""

from dataclasses import replace

import asyncpg
import pytest

from ktms.adapters.postgres.catalogue_store import PostgresCatalogueStore
from ktms.adapters.postgres.node_registry import PostgresNodeRegistry
from ktms.domain.access.actor import Actor
from ktms.domain.access.secret import Secret
from ktms.domain.ids import KeyId, NodeName
from ktms.domain.joined_node import NodePermit
from ktms.ports.catalogue import StoreAway
from tests.adapters.postgres.conftest import SAID

MAC = NodeName("mac-1")


async def test_the_same_again_writes_nothing(
    registry: PostgresNodeRegistry, node_key_id: KeyId, sql: asyncpg.Connection
) -> None:
    before = await sql.fetchrow("select xmin::text, * from node_announcement")
    await registry.announce(node_key_id, SAID)
    assert await sql.fetchrow("select xmin::text, * from node_announcement") == before


async def test_a_heartbeat_touches_nothing_but_its_time(
    registry: PostgresNodeRegistry, node_key_id: KeyId, sql: asyncpg.Connection
) -> None:
    await sql.execute("update node_announcement set heard_at = heard_at - interval '1 hour'")
    before = dict(await sql.fetchrow("select * from node_announcement") or {})
    await registry.announce(node_key_id, SAID)
    after = dict(await sql.fetchrow("select * from node_announcement") or {})
    assert {name for name, value in after.items() if before[name] != value} == {"heard_at"}


async def test_a_replica_that_lacks_the_primary_key_takes_no_announcement(
    registry: PostgresNodeRegistry, actor: Actor, sql: asyncpg.Connection
) -> None:
    key, _ = await registry.issue(NodePermit("mac-1"), actor=actor)
    await sql.execute("insert into encryption_key (id, check_value) values ('next', '\\x0102030405060708')")
    await sql.execute("update encryption_state set primary_id = 'next'")
    with pytest.raises(StoreAway):
        await registry.announce(key.id, SAID)
    assert await sql.fetchval("select count(*) from node_announcement") == 0


async def test_a_change_keeps_the_row_it_is_sealed_for(
    registry: PostgresNodeRegistry,
    catalogue_store: PostgresCatalogueStore,
    node_key_id: KeyId,
    sql: asyncpg.Connection,
) -> None:
    row = await sql.fetchval("select id from node_announcement")
    await registry.announce(node_key_id, replace(SAID, token=Secret("another-token")))
    assert await sql.fetchval("select id from node_announcement") == row
    assert [node.token for node in (await catalogue_store.snapshot()).nodes] == [Secret("another-token")]
