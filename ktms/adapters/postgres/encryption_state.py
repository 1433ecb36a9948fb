"""Which key the database is encrypted under, and whether this replica may work with it.

An empty database adopts the first key of the keyring. From then on the database says which key new ciphertext is
written under (the primary one), and a keyring that does not fit refuses the start: it could neither read what is
there nor write what the others can read. Not here: changing the primary key.
"""

import hmac
from collections.abc import Mapping

import asyncpg

from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.sealed_columns import ROWS_PER_KEY
from ktms.ports.catalogue import StoreAway
from ktms.ports.secrets import Secrets


class KeyringMismatch(Exception):
    """This replica's keyring does not fit the database; the message names key ids and the remedy, never a key."""


async def settle_keyring(database: Database, secrets: Secrets) -> str:
    """Check the keyring against the database, adopting its first key if there is none, and give the primary id.

    Raises:
        KeyringMismatch: another key goes by a known id, the primary key is missing, or rows lie under a key that
            is not here.
        StoreAway: the database did not answer in time.
    """
    async with database.transaction("settle_keyring") as connection:
        await _adopt_first(connection, secrets)
        primary = await _checked(connection, secrets)
        assert primary is not None, "adopted above"
        return primary


async def check_keyring(database: Database, secrets: Secrets) -> str | None:
    """Check the keyring like `settle_keyring`, changing nothing; None: the database has adopted no key yet.

    Raises:
        KeyringMismatch, StoreAway: as `settle_keyring`.
    """
    async with database.transaction("check_keyring") as connection:
        return await _checked(connection, secrets)


async def _checked(connection: asyncpg.Connection, secrets: Secrets) -> str | None:
    await _check_values(connection, secrets)
    primary = await primary_key_id(connection)
    if primary is None:
        return None
    if primary not in secrets.key_ids():
        raise KeyringMismatch(
            f"the database is encrypted under the key {primary}, which is not in the keyring "
            f"({', '.join(secrets.key_ids())}): put it back"
        )
    await _check_rows(connection, secrets)
    return primary


async def primary_key_id(connection: asyncpg.Connection) -> str | None:
    """Give the primary id and hold it until the end of the transaction: a rotation waits for us."""
    primary: str | None = await connection.fetchval(
        "select primary_id from encryption_state where id = 1 for share"
    )
    return primary


async def writable_key_id(connection: asyncpg.Connection, secrets: Secrets) -> str:
    """Give the id to write under, held as by `primary_key_id`.

    Raises:
        StoreAway: this replica cannot write: no key was adopted yet, or a newer one is not in its keyring.
    """
    primary = await primary_key_id(connection)
    if primary is None or primary not in secrets.key_ids():
        raise StoreAway(f"this replica's keyring lacks the key {primary} the database is encrypted under")
    return primary


async def rows_per_key(connection: asyncpg.Connection) -> Mapping[tuple[str, str], int]:
    """Count the rows by table and key id."""
    return {(row["table"], row["key_id"]): row["rows"] for row in await connection.fetch(ROWS_PER_KEY)}


async def _adopt_first(connection: asyncpg.Connection, secrets: Secrets) -> None:
    if await connection.fetchval("select exists (select from encryption_state)"):
        return
    first = secrets.key_ids()[0]
    await connection.execute(
        "insert into encryption_key (id, check_value) values ($1, $2) on conflict do nothing",
        first,
        secrets.check_value(first),
    )
    await connection.execute(
        "insert into encryption_state (id, primary_id, epoch) values (1, $1, 1) on conflict do nothing", first
    )


async def _check_values(connection: asyncpg.Connection, secrets: Secrets) -> None:
    for row in await connection.fetch("select id, check_value from encryption_key order by id"):
        key_id = row["id"]
        if key_id in secrets.key_ids() and not hmac.compare_digest(
            row["check_value"], secrets.check_value(key_id)
        ):
            raise KeyringMismatch(
                f"the key {key_id} of the keyring is not the key of that id this database was encrypted with: "
                "put the right one back, or name the new one differently"
            )


async def _check_rows(connection: asyncpg.Connection, secrets: Secrets) -> None:
    unknown = [
        f"{rows} rows of {table} under {key_id}"
        for (table, key_id), rows in (await rows_per_key(connection)).items()
        if key_id not in secrets.key_ids()
    ]
    if unknown:
        raise KeyringMismatch(
            f"keys that are still needed are not in the keyring: {', '.join(unknown)}; put them back"
        )
