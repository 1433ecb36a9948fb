"""Names of the notification channels, and telling the others inside the transaction that changes something."""

import asyncpg

from ktms.domain.ids import KeyId

CATALOGUE_CHANNEL = "ktms_catalogue"
"""Payload: the new version, for people who listen by hand."""

KEY_CHANNEL = "ktms_key"
"""Payload: the public id of the key that was revoked or changed."""


async def tell_catalogue_changed(connection: asyncpg.Connection, version: int) -> None:
    """Tell that a newer catalogue is stored, once this transaction commits."""
    await connection.execute("select pg_notify($1, $2)", CATALOGUE_CHANNEL, str(version))


async def tell_key_changed(connection: asyncpg.Connection, key_id: KeyId) -> None:
    """Tell that a key was revoked or changed, once this transaction commits."""
    await connection.execute("select pg_notify($1, $2)", KEY_CHANNEL, key_id)
