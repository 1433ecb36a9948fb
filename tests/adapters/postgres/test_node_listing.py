from dataclasses import replace

import asyncpg
import pytest

from ktms.adapters.postgres.node_listing import read_known
from ktms.domain.ids import KeyId
from tests.adapters.postgres.conftest import SAID


async def test_a_listing_opens_no_token_and_tells_how_long_ago_a_node_was_heard(
    node_key_id: KeyId, sql: asyncpg.Connection
) -> None:
    await sql.execute("update node_announcement set heard_at = now() - interval '90 seconds'")
    (known,) = await read_known(sql)
    assert (known.key_id, known.announcement) == (node_key_id, replace(SAID, token=None))
    assert known.heard_ago_s == pytest.approx(90, abs=30)


@pytest.mark.usefixtures("node_key_id")
async def test_revoked_keys_are_not_listed(sql: asyncpg.Connection) -> None:
    await sql.execute("update node_key set revoked_at = now()")
    assert await read_known(sql) == []
