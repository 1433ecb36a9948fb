"""Keys of nodes in Postgres, beyond the contract."""

import asyncpg
import msgspec
import pytest

from ktms.adapters.postgres.node_registry import PostgresNodeRegistry
from ktms.domain.access.actor import Actor
from ktms.domain.ids import KeyId, NodeName
from ktms.domain.joined_node import NodePermit
from tests.adapters.postgres.conftest import SAID

MAC = NodeName("mac-1")


async def test_neither_key_nor_token_lies_in_plain_text(
    registry: PostgresNodeRegistry, actor: Actor, sql: asyncpg.Connection
) -> None:
    key, token = await registry.issue(NodePermit("mac-1"), actor=actor)
    await registry.announce(key.id, SAID)
    rows = [
        *await sql.fetch("select node_key::text as row from node_key"),
        *await sql.fetch("select node_announcement::text as row from node_announcement"),
        *await sql.fetch("select audit::text as row from audit"),
    ]
    text = "".join(row["row"] for row in rows)
    assert "canary" not in text
    assert token not in text
    assert await sql.fetchval("select token_last4 from node_announcement") == "oken"


@pytest.mark.usefixtures("node_key_id")
async def test_changes_of_operators_are_audited_with_their_version(
    registry: PostgresNodeRegistry, actor: Actor, sql: asyncpg.Connection
) -> None:
    await registry.set_enabled(MAC, enabled=False, actor=actor)
    await registry.revoke(MAC, actor=actor)
    rows = await sql.fetch("select action, subject, actor, version, details from audit order by version")
    assert [(row["action"], row["subject"], row["actor"]) for row in rows] == [
        ("issue_node_key", "node mac-1", "tester"),
        ("set_node_enabled", "node mac-1", "tester"),
        ("revoke_node_key", "node mac-1", "tester"),
    ]
    assert [row["version"] for row in rows] == [1, 3, 4]  # 2 is the announcement, which no operator made
    details = [msgspec.json.decode(row["details"]) for row in rows]
    assert details[0]["after"] == {"models": ["a"], "region": "fr"}
    assert details[1] == {"before": {"enabled": True}, "after": {"enabled": False}}


async def test_a_revoked_key_keeps_its_row_and_loses_its_announcement(
    registry: PostgresNodeRegistry, node_key_id: KeyId, actor: Actor, sql: asyncpg.Connection
) -> None:
    await registry.revoke(MAC, actor=actor)
    assert await sql.fetchval("select key_id from node_key where revoked_at is not null") == node_key_id
    assert await sql.fetchval("select count(*) from node_announcement") == 0
