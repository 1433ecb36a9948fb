"""Node keys in Postgres: issued, found, revoked, listed; announcements are taken by `announcement_writing.py`.

Tokens are shown once and stored as digests. Whatever an operator changes is audited and moves the catalogue's
version in the same transaction.
"""

from collections.abc import Mapping, Sequence

import asyncpg

from ktms.adapters.postgres.announcement_writing import AnnouncementWriter
from ktms.adapters.postgres.audit import write_audit
from ktms.adapters.postgres.catalogue_rows import Opener, lock_catalogue
from ktms.adapters.postgres.catalogue_version import move_on
from ktms.adapters.postgres.node_listing import read_known
from ktms.adapters.postgres.node_rows import find_node_key
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.row_ids import new_row_id
from ktms.domain.access.actor import Actor
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.domain.announcement import Announcement
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.ids import KeyId, NodeName
from ktms.domain.joined_node import KnownNode, NodeKey, NodePermit, permit_complaints
from ktms.ports.entropy import Entropy
from ktms.ports.node_registry import Announced, NodeKeyTaken
from ktms.ports.secrets import Secrets
from ktms.ports.telemetry import Telemetry

_INSERT = "insert into node_key (id, key_id, digest, name, models, region) values ($1, $2, $3, $4, $5, $6)"

_IS_LIVE = "select exists (select from node_key where name = $1 and revoked_at is null)"

_REVOKE = "update node_key set revoked_at = now() where name = $1 and revoked_at is null returning id, key_id"

_SWITCH_JOINED = """
update node_key set enabled = $2 where name = $1 and revoked_at is null and enabled <> $2 returning id
"""

_SWITCH_DECLARED = """
update node set spec = jsonb_set(spec, '{enabled}', to_jsonb($2::boolean))
where name = $1 and coalesce((spec ->> 'enabled')::boolean, true) <> $2 returning id
"""

_IS_KNOWN = """
select exists (select from node_key where name = $1 and revoked_at is null)
    or exists (select from node where name = $1)
"""


class PostgresNodeRegistry:
    """Stores node keys and announcements (port: NodeRegistry)."""

    def __init__(self, database: Database, secrets: Secrets, entropy: Entropy, telemetry: Telemetry) -> None:
        self._database = database
        self._entropy = entropy
        self._writer = AnnouncementWriter(database, secrets, entropy, Opener(secrets, telemetry))

    async def find(self, key_id: KeyId) -> NodeKey | None:
        """Give the live key of this public id.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.session("find_node_key") as connection:
            return await find_node_key(connection, key_id)

    async def announce(self, key_id: KeyId, announcement: Announcement) -> Announced:
        """Take an announcement of the node whose key this is.

        Raises:
            NodeKeyGone: the key is not live.
            StaleAnnouncement: the stored epoch is newer.
            StoreAway: the database did not answer in time.
        """
        return await self._writer.take(key_id, announcement)

    async def issue(self, permit: NodePermit, *, actor: Actor) -> tuple[NodeKey, str]:
        """Make the key of a node; the second value is its token, shown this once.

        Raises:
            NodeKeyTaken: the node has a live key.
            CatalogueInvalid: the permit breaks a rule of the catalogue.
            StoreAway: the database did not answer in time.
        """
        found = tuple(permit_complaints(permit))
        if found:
            raise CatalogueInvalid(found)
        token = make_key(KeyKind.NODE, self._entropy.token_bytes)
        text = read_key(token)
        assert text is not None, "a made key is well formed"
        async with self._database.transaction("issue_node_key") as connection:
            version = await lock_catalogue(connection)
            if await connection.fetchval(_IS_LIVE, permit.name):
                raise NodeKeyTaken
            row = new_row_id(self._entropy)
            await connection.execute(
                _INSERT, row, text.id, text.digest, permit.name, list(permit.models), permit.region
            )
            after = {"models": permit.models, "region": permit.region}
            details = {"key_id": text.id, "after": after}
            await self._changed(connection, version, actor, "issue_node_key", permit.name, details)
        return NodeKey(text.id, text.digest, permit), token

    async def revoke(self, name: NodeName, *, actor: Actor) -> bool:
        """Revoke the key of a node for good and forget what it announced; False when it has no live key.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.transaction("revoke_node_key") as connection:
            version = await lock_catalogue(connection)
            row = await connection.fetchrow(_REVOKE, name)
            if row is None:
                return False
            await connection.execute("delete from node_announcement where node_key_id = $1", row["id"])
            details = {"key_id": row["key_id"]}
            await self._changed(connection, version, actor, "revoke_node_key", name, details)
            return True

    async def set_enabled(self, name: NodeName, *, enabled: bool, actor: Actor) -> bool:
        """Switch a node on or off, as declared and as joined; False when there is none of this name.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.transaction("set_node_enabled") as connection:
            version = await lock_catalogue(connection)
            switched = [
                await connection.fetchval(statement, name, enabled)
                for statement in (_SWITCH_JOINED, _SWITCH_DECLARED)
            ]
            if not any(switched):
                return bool(await connection.fetchval(_IS_KNOWN, name))
            details = {"before": {"enabled": not enabled}, "after": {"enabled": enabled}}
            await self._changed(connection, version, actor, "set_node_enabled", name, details)
            return True

    async def list(self) -> Sequence[KnownNode]:
        """Give all nodes: declared ones in the order of the file, then those that only joined, oldest first.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.transaction("list_nodes", snapshot=True) as connection:
            return await read_known(connection)

    async def _changed(
        self,
        connection: asyncpg.Connection,
        version: int,
        actor: Actor,
        action: str,
        name: str,
        details: Mapping[str, object],
    ) -> None:
        moved = await move_on(connection, version)
        await write_audit(connection, self._entropy, actor, action, f"node {name}", details, moved)
