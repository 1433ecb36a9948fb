"""Announcements into their table: one look for those that say nothing new, a transaction for the others.

Whoever changes anything holds the row of the catalogue's version, as an apply does, so two agents of one node
follow each other and the older one is fenced off. Not here: who may announce (`api/node`).
"""

from dataclasses import dataclass
from uuid import UUID

import asyncpg

from ktms.adapters.postgres.catalogue_rows import Opener, lock_catalogue
from ktms.adapters.postgres.catalogue_version import move_on
from ktms.adapters.postgres.encryption_state import writable_key_id
from ktms.adapters.postgres.node_rows import announcement_of, announcement_spec, permit_of
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.row_ids import new_row_id
from ktms.adapters.postgres.sealed_columns import announced_token_place
from ktms.adapters.postgres.specs import decode
from ktms.domain.announcement import Announcement, routes_alike
from ktms.domain.catalogue import NodeSpec
from ktms.domain.ids import KeyId
from ktms.domain.joined_node import JoinedNode, admitted, as_served
from ktms.ports.entropy import Entropy
from ktms.ports.node_registry import HEARTBEAT_WRITE_S, Announced, NodeKeyGone, StaleAnnouncement
from ktms.ports.secrets import Secrets

_LOOK = """
select node_key.id as node_key_id, node_key.name, node_key.models, node_key.region, node_key.enabled,
    said.id, said.epoch_ms, said.spec, said.token,
    said.heard_at < now() - make_interval(secs => $2) as due, node.spec as declared
from node_key left join node_announcement as said on said.node_key_id = node_key.id
left join node on node.name = node_key.name
where node_key.key_id = $1 and node_key.revoked_at is null
"""

_HEARD = "update node_announcement set heard_at = now() where node_key_id = $1 and epoch_ms = $2"

_SAVE = """
insert into node_announcement (id, node_key_id, epoch_ms, spec, token, token_key_id, token_last4)
values ($1, $2, $3, $4::jsonb, $5, $6, $7)
on conflict (node_key_id) do update set epoch_ms = excluded.epoch_ms, spec = excluded.spec, token = excluded.token,
    token_key_id = excluded.token_key_id, token_last4 = excluded.token_last4, heard_at = now(), changed_at = now()
"""


@dataclass(frozen=True, slots=True)
class _Looked:
    """What is stored of the node that announces; `row` is the announcement's id, `due` asks for a heartbeat."""

    node_key: UUID
    row: UUID | None
    before: Announcement | None
    due: bool
    declared: NodeSpec | None
    joined: JoinedNode

    def answer(self, version: int | None) -> Announced:
        found = admitted(self.joined, self.declared)
        accepted = tuple(model.name for model in found.accepted)
        return Announced(accepted, found.ignored, as_served(self.joined, self.declared), version)


class AnnouncementWriter:
    """Takes announcements."""

    def __init__(self, database: Database, secrets: Secrets, entropy: Entropy, opener: Opener) -> None:
        self._database = database
        self._secrets = secrets
        self._entropy = entropy
        self._opener = opener

    async def take(self, key_id: KeyId, said: Announcement) -> Announced:
        """Take one announcement.

        Raises:
            NodeKeyGone: the key is not live.
            StaleAnnouncement: the stored epoch is newer.
            StoreAway: the database did not answer in time.
        """
        async with self._database.session("announce") as connection:
            looked = await self._look(connection, key_id, said)
            if looked.before == said:
                if looked.due:
                    await connection.execute(_HEARD, looked.node_key, said.epoch_ms)
                return looked.answer(None)
        async with self._database.transaction("announce") as connection:
            version = await lock_catalogue(connection)
            primary = await writable_key_id(connection, self._secrets)
            looked = await self._look(connection, key_id, said)
            await self._save(connection, looked, said, primary)
            if looked.before is not None and routes_alike(looked.before, said):
                return looked.answer(None)
            return looked.answer(await move_on(connection, version))

    async def _look(self, connection: asyncpg.Connection, key_id: KeyId, said: Announcement) -> _Looked:
        row = await connection.fetchrow(_LOOK, key_id, HEARTBEAT_WRITE_S)
        if row is None:
            raise NodeKeyGone
        if row["epoch_ms"] is not None and row["epoch_ms"] > said.epoch_ms:
            raise StaleAnnouncement
        declared = row["declared"]
        return _Looked(
            node_key=row["node_key_id"],
            row=row["id"],
            before=announcement_of(row, self._opener),
            due=bool(row["due"]),
            declared=None if declared is None else decode(NodeSpec, declared, name=row["name"]),
            joined=JoinedNode(permit_of(row), said),
        )

    async def _save(
        self, connection: asyncpg.Connection, looked: _Looked, said: Announcement, primary: str
    ) -> None:
        assert said.token is not None, "an announcement brings its token"
        row = looked.row or new_row_id(self._entropy)
        place = announced_token_place(str(row), str(looked.node_key))
        await connection.execute(
            _SAVE,
            row,
            looked.node_key,
            said.epoch_ms,
            announcement_spec(said),
            self._secrets.seal(said.token.reveal().encode(), place, primary),
            primary,
            said.token.last4,
        )
