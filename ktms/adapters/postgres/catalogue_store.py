"""The stored catalogue for the data plane: its version, and its compiled form."""

from collections.abc import Sequence
from dataclasses import replace

from ktms.adapters.postgres.catalogue_rows import Opener, Stored, read_stored
from ktms.adapters.postgres.node_rows import read_joined
from ktms.adapters.postgres.pool import Database
from ktms.domain.catalogue import Catalogue
from ktms.domain.catalogue_overlay import overlaid
from ktms.domain.joined_node import JoinedNode
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.snapshot import Snapshot
from ktms.ports.secrets import Secrets
from ktms.ports.telemetry import Telemetry


class PostgresCatalogueStore:
    """Reads the newest catalogue (port: CatalogueStore)."""

    def __init__(self, database: Database, secrets: Secrets, telemetry: Telemetry) -> None:
        self._database = database
        self._opener = Opener(secrets, telemetry)

    async def version(self) -> int:
        """Give the number of the newest version; 0 when nothing was ever applied.

        Raises:
            StoreAway: the database did not answer in time.
        """
        async with self._database.session("catalogue_version") as connection:
            version: int = await connection.fetchval("select version from catalogue_version where id = 1")
            return version

    async def catalogue(self) -> Catalogue:
        """Read the newest version, client keys included, with what nodes announced laid over it.

        What cannot be decrypted is left out and reported.

        Raises:
            StoreAway: the database did not answer in time.
            CatalogueInvalid: a stored entry cannot be read.
        """
        stored, joined = await self._read()
        return overlaid(stored.catalogue, joined)

    async def snapshot(self) -> Snapshot:
        """Read and compile the newest version with what nodes announced, secrets opened.

        What cannot be decrypted is left out and reported.

        Raises:
            StoreAway: the database did not answer in time.
            CatalogueInvalid: what is stored does not compile.
        """
        stored, joined = await self._read()
        # Client keys are verified one by one and are no part of a snapshot: one that names a model that is gone
        # must not keep all others from working.
        catalogue = overlaid(replace(stored.catalogue, client_keys=()), joined)
        return compile_snapshot(catalogue, version=stored.version, key_ids=stored.key_ids)

    async def _read(self) -> tuple[Stored, Sequence[JoinedNode]]:
        async with self._database.transaction("catalogue_snapshot", snapshot=True) as connection:
            return await read_stored(connection, self._opener), await read_joined(connection, self._opener)
