"""Writing client keys: a token is made or given once, and only its digest is stored."""

from uuid import UUID

import asyncpg

from ktms.adapters.postgres.news import tell_key_changed
from ktms.adapters.postgres.row_ids import new_row_id
from ktms.adapters.postgres.specs import encode
from ktms.domain.access.key_form import KeyKind, KeyText, make_key, read_key
from ktms.domain.catalogue import ClientKeySpec
from ktms.domain.ids import KeyId
from ktms.ports.entropy import Entropy


async def insert_client_key(
    connection: asyncpg.Connection, entropy: Entropy, spec: ClientKeySpec, tenant: UUID, position: int
) -> tuple[KeyText, str]:
    """Store a new key under the given token or one made now; the second value is the token."""
    token = spec.secret.reveal() if spec.secret else make_key(KeyKind.CLIENT, entropy.token_bytes)
    text = read_key(token)
    assert text is not None, "a given token was checked before, a made one is well formed"
    await connection.execute(
        "insert into client_key (id, key_id, digest, name, tenant_id, spec, position) "
        "values ($1, $2, $3, $4, $5, $6::jsonb, $7)",
        new_row_id(entropy),
        text.id,
        text.digest,
        spec.name,
        tenant,
        encode(spec),
        position,
    )
    return text, token


async def update_client_key(
    connection: asyncpg.Connection, spec: ClientKeySpec, tenant: UUID, position: int
) -> None:
    """Change what the live key of this name may do; its token stays."""
    key_id: str = await connection.fetchval(
        "update client_key set tenant_id = $2, spec = $3::jsonb, position = $4 "
        "where name = $1 and revoked_at is null returning key_id",
        spec.name,
        tenant,
        encode(spec),
        position,
    )
    await tell_key_changed(connection, KeyId(key_id))


async def revoke_client_key(connection: asyncpg.Connection, name: str) -> None:
    """Revoke the live key of this name for good."""
    key_id: str = await connection.fetchval(
        "update client_key set revoked_at = now() where name = $1 and revoked_at is null returning key_id", name
    )
    await tell_key_changed(connection, KeyId(key_id))
