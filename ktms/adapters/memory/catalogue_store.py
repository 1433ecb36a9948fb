"""The catalogue read from memory."""

from dataclasses import replace

from ktms.adapters.memory.store import MemoryStore
from ktms.domain.catalogue_overlay import overlaid
from ktms.domain.routing.compile import compile_snapshot
from ktms.domain.snapshot import Snapshot


class MemoryCatalogueStore:
    """Gives the newest catalogue in compiled form (port: CatalogueStore)."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def version(self) -> int:
        """Give the number of the newest version; 0 when nothing was ever applied."""
        self._store.check_here()
        return self._store.version

    async def snapshot(self) -> Snapshot:
        """Compile the newest version with what nodes announced; client keys are no part of a snapshot."""
        self._store.check_here()
        key_ids = {name: tuple(key_id for key_id, _ in keys) for name, keys in self._store.vendor_keys.items()}
        catalogue = overlaid(replace(self._store.catalogue, client_keys=()), self._store.joined())
        return compile_snapshot(catalogue, version=self._store.version, key_ids=key_ids)
