"""The policy in Postgres, setting by setting."""

from collections.abc import Collection

import asyncpg

from ktms.adapters.postgres.audit import write_audit
from ktms.adapters.postgres.catalogue_rows import lock_catalogue
from ktms.adapters.postgres.catalogue_version import move_on
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.specs import decode, encode, plain
from ktms.domain.access.actor import Actor
from ktms.domain.catalogue import PolicySpec
from ktms.domain.policy_edit import changed_fields, edited
from ktms.ports.entropy import Entropy
from ktms.ports.policy_store import Policy


class PostgresPolicyStore:
    """Reads and changes the stored policy (port: PolicyStore)."""

    def __init__(self, database: Database, entropy: Entropy) -> None:
        self._database = database
        self._entropy = entropy

    async def policy(self) -> Policy:
        """Give the stored policy.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.transaction("policy", snapshot=True) as connection:
            version = await connection.fetchval("select version from catalogue_version where id = 1")
            return Policy(await _stored(connection), version)

    async def change_policy(self, wanted: PolicySpec, names: Collection[str], *, actor: Actor) -> Policy:
        """Take the settings named from `wanted` and keep the others, in one transaction.

        Raises:
            CatalogueInvalid: a name that is no setting, or a value that breaks a rule.
            StoreAway: the database did not answer in time.
        """
        async with self._database.transaction("set_policy") as connection:
            version = await lock_catalogue(connection)
            before = await _stored(connection)
            after = edited(before, wanted, names)
            changed = changed_fields(before, after)
            if not changed:
                return Policy(after, version)
            await connection.execute("update policy set spec = $1::jsonb where id = 1", encode(after))
            moved = await move_on(connection, version)
            details = {"before": _shown(before, changed), "after": _shown(after, changed)}
            await write_audit(connection, self._entropy, actor, "set_policy", "policy", details, moved)
            return Policy(after, moved)


async def _stored(connection: asyncpg.Connection) -> PolicySpec:
    return decode(PolicySpec, await connection.fetchval("select spec from policy where id = 1"))


def _shown(policy: PolicySpec, names: Collection[str]) -> dict[str, object]:
    return {name: value for name, value in plain(policy).items() if name in names}
