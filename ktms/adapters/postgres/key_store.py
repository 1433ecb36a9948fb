"""Client keys for the data plane: one indexed look-up for any number of them."""

from collections.abc import Collection, Mapping

from ktms.adapters.postgres.key_rows import FIND, client_key_of
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.client_key import ClientKey
from ktms.domain.ids import KeyId


class PostgresKeyStore:
    """Looks keys up by their public id (port: KeyStore)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, ids: Collection[KeyId]) -> Mapping[KeyId, ClientKey]:
        """Give the stored keys among `ids`, revoked ones included. One round trip.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.session("find_keys") as connection:
            rows = await connection.fetch(FIND, list(ids))
        found = (client_key_of(row) for row in rows)
        return {key.id: key for key in found}
