"""Rows of nodes that joined which cannot be read as they should."""

import asyncpg
import pytest

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.catalogue_store import PostgresCatalogueStore
from ktms.adapters.postgres.node_registry import PostgresNodeRegistry
from ktms.domain.ids import KeyId, NodeName
from tests.adapters.postgres.conftest import SAID

MAC = NodeName("mac-1")


async def test_a_token_that_cannot_be_opened_leaves_the_node_out_until_it_announces_again(
    registry: PostgresNodeRegistry,
    catalogue_store: PostgresCatalogueStore,
    node_key_id: KeyId,
    sql: asyncpg.Connection,
    telemetry: MemoryTelemetry,
) -> None:
    await sql.execute("update node_announcement set token = set_byte(token, 78, get_byte(token, 78) # 1)")
    assert (await catalogue_store.snapshot()).nodes == ()
    event = next(each for each in telemetry.events if each.name == "secret_undecryptable")
    assert (event.facts["table"], event.facts["belongs_to"]) == ("node_announcement", "mac-1")
    await registry.announce(node_key_id, SAID)
    assert [node.token for node in (await catalogue_store.snapshot()).nodes] == [SAID.token]


@pytest.mark.parametrize("spec", ["{}", '{"url": 5}', '{"engine": "from-tomorrow"}'])
async def test_what_another_release_stored_keeps_nobody_from_being_served(
    registry: PostgresNodeRegistry,
    catalogue_store: PostgresCatalogueStore,
    node_key_id: KeyId,
    sql: asyncpg.Connection,
    spec: str,
) -> None:
    await sql.execute("update node_announcement set spec = $1::jsonb", spec)
    assert (await catalogue_store.snapshot()).nodes == ()
    assert [node.announcement for node in await registry.list()] == [None]
    await registry.announce(node_key_id, SAID)
    assert [node.name for node in (await catalogue_store.snapshot()).nodes] == [MAC]


async def test_fields_of_a_newer_release_are_passed_over(
    catalogue_store: PostgresCatalogueStore, node_key_id: KeyId, sql: asyncpg.Connection
) -> None:
    await sql.execute("""update node_announcement set spec = spec || '{"gpu": "two"}'""")
    assert [node.name for node in (await catalogue_store.snapshot()).nodes] == [MAC]
