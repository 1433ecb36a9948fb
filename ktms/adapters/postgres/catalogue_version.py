"""The step from one version of the catalogue to the next, inside the transaction that changes it."""

import asyncpg

from ktms.adapters.postgres.news import tell_catalogue_changed


async def move_on(connection: asyncpg.Connection, version: int) -> int:
    """Store the version after this one, which the transaction holds, and tell all replicas once it commits."""
    await connection.execute(
        "update catalogue_version set version = $1, changed_at = now() where id = 1", version + 1
    )
    await tell_catalogue_changed(connection, version + 1)
    return version + 1
