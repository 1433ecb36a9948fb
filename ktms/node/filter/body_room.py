"""The room that the bodies of all calls under way share: pieces take of it, the end of a call gives it back.

Not here: how large one body may be, and how slow (`inbound_body.py`).
"""

from collections.abc import Iterator
from contextlib import contextmanager


class BodyRoom:
    """Counts bytes; `taken` never exceeds `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0

    @contextmanager
    def share(self) -> "Iterator[Share]":
        """Lend a share for one call; what it took is given back with the block."""
        share = Share(self)
        try:
            yield share
        finally:
            self.taken -= share.taken

    def take(self, size: int) -> bool:
        """Take so many bytes; False where there are not so many left."""
        if self.taken + size > self._most:
            return False
        self.taken += size
        return True


class Share:
    """What one call has taken."""

    def __init__(self, room: BodyRoom) -> None:
        self._room = room
        self.taken = 0

    def take(self, size: int) -> bool:
        """Take so many bytes more; False where there are not so many left for anybody."""
        if not self._room.take(size):
            return False
        self.taken += size
        return True
