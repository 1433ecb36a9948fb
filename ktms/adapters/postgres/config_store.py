"""The declared catalogue for the admin plane: shown without secrets, replaced in one transaction.

An apply holds the row of the catalogue's version, so applies follow each other; it reads the primary key FOR
SHARE, so a key rotation waits for it and it for a rotation. Version, audit row and notification belong to the same
transaction as the change itself. What is written is decided by `domain/catalogue_plan.py`.
"""

from collections.abc import Mapping
from uuid import UUID

import asyncpg

from ktms.adapters.postgres.audit import write_audit
from ktms.adapters.postgres.catalogue_rows import Opener, Stored, lock_catalogue, read_stored
from ktms.adapters.postgres.catalogue_version import move_on
from ktms.adapters.postgres.catalogue_writing import save_catalogue
from ktms.adapters.postgres.change_details import details_of
from ktms.adapters.postgres.encryption_state import writable_key_id
from ktms.adapters.postgres.key_writing import insert_client_key, revoke_client_key, update_client_key
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.secret_writing import SecretWriter
from ktms.domain.access.actor import Actor
from ktms.domain.catalogue import Catalogue
from ktms.domain.catalogue_plan import Plan, StoredKey, plan_apply
from ktms.domain.ids import KeyId
from ktms.ports.config_store import Applied, NewKey
from ktms.ports.entropy import Entropy
from ktms.ports.secrets import Secrets
from ktms.ports.telemetry import Telemetry

APPLY_TIMEOUT_S = 15.0
"""An apply may wait for another one and writes every table; a person waits for it, no client does."""

_ORDER_KEYS = """
update client_key set position = listed.position
from unnest($1::text[]) with ordinality as listed (name, position)
where client_key.name = listed.name and client_key.revoked_at is null
and client_key.position <> listed.position
"""


class PostgresConfigStore:
    """Reads and replaces the declared catalogue (port: ConfigStore)."""

    def __init__(self, database: Database, secrets: Secrets, entropy: Entropy, telemetry: Telemetry) -> None:
        self._database = database
        self._secrets = secrets
        self._entropy = entropy
        self._opener = Opener(secrets, telemetry)

    async def export(self) -> Catalogue:
        """Give the stored catalogue; secrets are absent (None or empty).

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.transaction("export", snapshot=True) as connection:
            return (await read_stored(connection, None)).catalogue

    async def apply(self, wanted: Catalogue, *, actor: Actor, prune: bool, dry_run: bool) -> Applied:
        """Make the stored catalogue what is wanted, in one transaction, or change nothing.

        A dry run writes everything too and rolls it back: the version stays, and keys that nobody stored are not
        shown.

        Raises:
            StoreAway: the database did not answer; nothing was changed.
            CatalogueInvalid: the result would not compile.
        """
        async with self._database.transaction("apply", APPLY_TIMEOUT_S) as connection:
            version = await lock_catalogue(connection)
            change = connection.transaction()  # a savepoint, so that a dry run ends like any other transaction
            await change.start()
            applied = await self._apply(connection, version, wanted, actor=actor, prune=prune)
            if dry_run:
                await change.rollback()
                return Applied(version, applied.changes, ())
            await change.commit()
            return applied

    async def _apply(
        self, connection: asyncpg.Connection, version: int, wanted: Catalogue, *, actor: Actor, prune: bool
    ) -> Applied:
        primary = await writable_key_id(connection, self._secrets)
        stored = await read_stored(connection, self._opener)
        plan = plan_apply(stored.catalogue, wanted, await _stored_keys(connection), prune=prune)
        if not plan.changes:
            return Applied(version, (), ())
        await save_catalogue(connection, self._entropy, plan.merged)
        await self._write_secrets(connection, plan, stored, primary)
        made = await self._write_client_keys(connection, plan)
        version = await move_on(connection, version)
        details = details_of(plan, stored.catalogue)
        await write_audit(connection, self._entropy, actor, "apply", "catalogue", details, version)
        return Applied(version, plan.changes, made)

    async def _write_secrets(
        self, connection: asyncpg.Connection, plan: Plan, stored: Stored, primary: str
    ) -> None:
        writer = SecretWriter(connection, self._secrets, self._entropy, primary)
        vendors = await _ids(connection, "select name, id from vendor")
        for vendor in plan.merged.vendors:
            if vendor.keys and _touches(plan, "vendor", vendor.name, "keys"):
                known = stored.vendor_keys.get(vendor.name, ())
                await writer.replace_vendor_keys(vendors[vendor.name], vendor.keys, known)
        nodes = await _ids(connection, "select name, id from node")
        for node in plan.merged.nodes:
            if node.token and _touches(plan, "node", node.name, "token"):
                await writer.replace_node_token(nodes[node.name], node.token)

    async def _write_client_keys(self, connection: asyncpg.Connection, plan: Plan) -> tuple[NewKey, ...]:
        tenants = await _ids(connection, "select name, id from tenant where removed_at is null")
        by_name = {change.name: change for change in plan.changes if change.kind == "client_key"}
        for change in by_name.values():
            if change.action == "remove" or "secret" in change.fields:
                await revoke_client_key(connection, change.name)
        made: list[NewKey] = []
        for position, spec in enumerate(plan.merged.client_keys):
            change_of = by_name.get(spec.name)
            if change_of is None:
                continue
            if change_of.action == "add" or "secret" in change_of.fields:
                _, token = await insert_client_key(connection, self._entropy, spec, tenants[spec.tenant], position)
                if spec.secret is None:
                    made.append(NewKey(spec.name, token))
            else:
                await update_client_key(connection, spec, tenants[spec.tenant], position)
        await connection.execute(_ORDER_KEYS, [spec.name for spec in plan.merged.client_keys])
        return tuple(made)


def _touches(plan: Plan, kind: str, name: str, field: str) -> bool:
    """Whether the entry is new or the field of it changes."""
    return any(
        change.kind == kind and change.name == name and (change.action == "add" or field in change.fields)
        for change in plan.changes
    )


async def _ids(connection: asyncpg.Connection, statement: str) -> Mapping[str, UUID]:
    return {row["name"]: row["id"] for row in await connection.fetch(statement)}


async def _stored_keys(connection: asyncpg.Connection) -> list[StoredKey]:
    rows = await connection.fetch("select key_id, name, digest, revoked_at is not null as revoked from client_key")
    return [StoredKey(KeyId(row["key_id"]), row["name"], row["digest"], row["revoked"]) for row in rows]
