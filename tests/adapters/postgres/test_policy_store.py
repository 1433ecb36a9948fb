"""The policy in Postgres, beyond the contract."""

import asyncpg
import msgspec

from ktms.adapters.postgres.policy_store import PostgresPolicyStore
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.actor import Actor
from ktms.domain.catalogue import PolicySpec
from ktms.ports.entropy import Entropy


async def test_a_change_of_the_policy_is_audited_with_what_changed(
    database: Database, entropy: Entropy, actor: Actor, sql: asyncpg.Connection
) -> None:
    store = PostgresPolicyStore(database, entropy)
    await store.change_policy(PolicySpec(band=float("inf")), ("band", "force_cloud"), actor=actor)
    row = await sql.fetchrow("select action, subject, version, details from audit")
    assert row is not None
    assert (row["action"], row["subject"], row["version"]) == ("set_policy", "policy", 1)
    assert msgspec.json.decode(row["details"]) == {"before": {"band": 1.25}, "after": {"band": "inf"}}
