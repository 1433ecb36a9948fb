"""Client and admin keys for the admin plane.

Whatever changes keys holds the row of the catalogue's version first, as an apply does: names and tenants then stay
what they were when they were looked at. Tokens are shown once and stored as digests.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import asyncpg

from ktms.adapters.postgres.audit import write_audit
from ktms.adapters.postgres.catalogue_rows import lock_catalogue, read_stored
from ktms.adapters.postgres.key_rows import LIST, client_key_of
from ktms.adapters.postgres.key_writing import insert_client_key
from ktms.adapters.postgres.news import tell_key_changed
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.row_ids import new_row_id
from ktms.adapters.postgres.specs import plain
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.client_key import AdminKey, ClientKey
from ktms.domain.access.key_form import KeyKind, read_key
from ktms.domain.catalogue import Catalogue, ClientKeySpec, TenantSpec
from ktms.domain.catalogue_rules import CatalogueInvalid, complaints
from ktms.domain.ids import KeyId
from ktms.domain.issued_key import issued_key
from ktms.ports.entropy import Entropy
from ktms.ports.key_admin import NameTaken, UnknownTenant

BOOTSTRAP_ACTOR = Actor("bootstrap", Role.OWNER)
"""Who made the first owner: whoever could set the gateway's environment."""

_OWNED = "select exists (select from admin_key where role = $1 and revoked_at is null)"


class PostgresKeyAdmin:
    """Creates, lists and revokes keys (port: KeyAdmin)."""

    def __init__(self, database: Database, entropy: Entropy) -> None:
        self._database = database
        self._entropy = entropy

    @asynccontextmanager
    async def _changing(self, operation: str) -> AsyncIterator[asyncpg.Connection]:
        async with self._database.transaction(operation) as connection:
            await lock_catalogue(connection)
            yield connection

    async def create(self, spec: ClientKeySpec, *, actor: Actor) -> tuple[ClientKey, str]:
        """Store a new client key; the second value is its token, shown this once.

        Raises:
            NameTaken: a key of this name exists that is not revoked, or the given token is in use.
            UnknownTenant: `spec.tenant` does not exist.
            CatalogueInvalid: the key names a model or tier that does not exist, or breaks another rule.
            StoreAway: the database did not answer in time.
        """
        async with self._changing("create_key") as connection:
            stored = await read_stored(connection, None)
            tenant = _tenant(stored.catalogue, spec)
            found = complaints(replace(stored.catalogue, client_keys=(spec,)))
            if found:
                raise CatalogueInvalid(found)
            keys = stored.catalogue.client_keys
            if spec.name in {key.name for key in keys}:
                raise NameTaken(f"a key named {spec.name!r} exists already")
            try:
                text, token = await insert_client_key(
                    connection, self._entropy, spec, stored.ids["tenant"][spec.tenant], len(keys)
                )
            except asyncpg.UniqueViolationError as error:
                raise NameTaken("the given token belongs to another key already") from error
            details = {"after": plain(spec), "key_id": text.id}
            await write_audit(connection, self._entropy, actor, "create_key", f"client_key {spec.name}", details)
            return issued_key(spec, tenant, text.id, text.digest), token

    async def list(self) -> Sequence[ClientKey]:
        """Give all client keys, oldest first, revoked ones included.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.session("list_keys") as connection:
            return [client_key_of(row) for row in await connection.fetch(LIST)]

    async def revoke(self, key_id: KeyId, *, actor: Actor) -> bool:
        """Revoke a client key for good; False when there is none; twice is harmless. All replicas are notified.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._changing("revoke_key") as connection:
            name = await connection.fetchval(
                "update client_key set revoked_at = now() where key_id = $1 and revoked_at is null returning name",
                key_id,
            )
            if name is None:
                there = "select exists (select from client_key where key_id = $1)"
                return bool(await connection.fetchval(there, key_id))
            await tell_key_changed(connection, key_id)
            details = {"key_id": key_id}
            await write_audit(connection, self._entropy, actor, "revoke_key", f"client_key {name}", details)
            return True

    async def find_admin(self, key_id: KeyId) -> AdminKey | None:
        """Give a stored admin key by its public id.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.session("find_admin_key") as connection:
            row = await connection.fetchrow(
                "select key_id, digest, name, role, revoked_at is not null as revoked "
                "from admin_key where key_id = $1",
                key_id,
            )
        if row is None:
            return None
        return AdminKey(KeyId(row["key_id"]), row["digest"], row["name"], row["role"], row["revoked"])

    async def has_owner(self) -> bool:
        """Whether anybody may administer everything.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.session("has_owner") as connection:
            owned: bool = await connection.fetchval(_OWNED, Role.OWNER.value)
            return owned

    async def bootstrap(self, token: str, *, role: Role = Role.OWNER) -> bool:
        """Store the first owner under `token` if there is no owner yet; False when there is one.

        Raises:
            ValueError: the token is no admin key.
            StoreAway: the database did not answer in time.
        """
        text = read_key(token)
        if text is None or text.kind is not KeyKind.ADMIN:
            raise ValueError("the bootstrap key is not a complete admin key (ktms_adm_…)")
        async with self._changing("bootstrap") as connection:
            if await connection.fetchval(_OWNED, Role.OWNER.value):
                return False
            await connection.execute(
                "insert into admin_key (id, key_id, digest, name, role) values ($1, $2, $3, $4, $5)",
                new_row_id(self._entropy),
                text.id,
                text.digest,
                BOOTSTRAP_ACTOR.name,
                role.value,
            )
            details = {"key_id": text.id, "role": role.value}
            subject = f"admin_key {BOOTSTRAP_ACTOR.name}"
            await write_audit(connection, self._entropy, BOOTSTRAP_ACTOR, "bootstrap", subject, details)
            return True


def _tenant(catalogue: Catalogue, spec: ClientKeySpec) -> TenantSpec:
    found = next((tenant for tenant in catalogue.tenants if tenant.name == spec.tenant), None)
    if found is None:
        raise UnknownTenant(f"there is no tenant {spec.tenant!r}")
    return found
