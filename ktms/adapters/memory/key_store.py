"""Client keys looked up in memory."""

from collections.abc import Collection, Mapping

from ktms.adapters.memory.store import MemoryStore
from ktms.domain.access.client_key import ClientKey
from ktms.domain.ids import KeyId


class MemoryKeyStore:
    """Looks keys up by their public id (port: KeyStore)."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def find(self, ids: Collection[KeyId]) -> Mapping[KeyId, ClientKey]:
        """Give the stored keys among `ids`, revoked ones included."""
        self._store.check_here()
        return {row.id: self._store.issued(row) for row in self._store.keys if row.id in ids}
