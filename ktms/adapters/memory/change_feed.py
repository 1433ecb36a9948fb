"""News of changes in memory."""

from collections.abc import AsyncIterator

from ktms.adapters.memory.store import MemoryStore
from ktms.ports.change_feed import News


class MemoryChangeFeed:
    """Hears of changes at once (port: ChangeFeed)."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def listen(self) -> AsyncIterator[News]:
        """Yield news until the feed is cut, then end."""
        self._store.check_here()
        listener = self._store.hear()
        try:
            while (news := await listener.get()) is not None:
                yield news
        finally:
            self._store.stop_hearing(listener)
