"""A saved snapshot in memory, for tests and simulated machines: it outlives whoever saved it."""

from dataclasses import replace

from ktms.domain.saved_snapshot import SavedSnapshot
from ktms.ports.snapshot_file import SnapshotUnusable


class MemorySnapshotFile:
    """Implements the `SnapshotFile` port. `broken` says why nothing works; None: all does."""

    def __init__(self) -> None:
        self.saved: SavedSnapshot | None = None
        self.broken: str | None = None

    async def save(self, snapshot: SavedSnapshot) -> None:
        """Put this in the place of what is there.

        Raises:
            SnapshotUnusable: it was told to be broken.
        """
        self._check()
        self.saved = snapshot

    async def load(self) -> SavedSnapshot | None:
        """Give what was saved last.

        Raises:
            SnapshotUnusable: it was told to be broken.
        """
        self._check()
        return self.saved

    def restart_machine(self) -> None:
        """Start the machine anew: its monotonic clock counts from elsewhere."""
        if self.saved is not None:
            self.saved = replace(self.saved, saved_at=replace(self.saved.saved_at, monotonic=None))

    def _check(self) -> None:
        if self.broken is not None:
            raise SnapshotUnusable(self.broken)
