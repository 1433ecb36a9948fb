"""Whether an engine has its model in memory: one that was evicted is loaded for who asks first, and all wait.

Not here: what the list of models says of it (`speech.py`).
"""

import asyncio
from collections.abc import Callable


class Shelf:
    """The model of one engine; `loaded` hears that it is in memory again."""

    def __init__(self, loaded: Callable[[], object]) -> None:
        self._loaded = loaded
        self._takes_s: float | None = None
        self._lock = asyncio.Lock()

    @property
    def away(self) -> bool:
        """Whether it is not in memory."""
        return self._takes_s is not None

    def evict(self, takes_s: float) -> None:
        """Take it out of memory; to load it takes so many seconds."""
        self._takes_s = takes_s

    def put_back(self) -> None:
        """Have it in memory at once, as after a restart."""
        if self._takes_s is not None:
            self._takes_s = None
            self._loaded()

    async def fetched(self) -> None:
        """Wait until it is in memory."""
        if self._takes_s is None:
            return
        async with self._lock:
            if self._takes_s is not None:
                await asyncio.sleep(self._takes_s)
                self.put_back()
