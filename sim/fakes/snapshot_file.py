"""The saved snapshot of one simulated machine: memory that outlives its processes, with each use as a fact.

Not here: how it lies on a real disk, sealed; no byte of it exists in a world.
"""

from ktms.adapters.memory.snapshot_file import MemorySnapshotFile
from ktms.domain.saved_snapshot import SavedSnapshot
from sim.journal.journal import Journal


class JournalSnapshotFile:
    """Implements the `SnapshotFile` port for one process on a disk that outlives it."""

    def __init__(self, host: str, journal: Journal, disk: MemorySnapshotFile) -> None:
        self._host = host
        self._journal = journal
        self._disk = disk

    async def save(self, snapshot: SavedSnapshot) -> None:
        """Put this in the place of what is there."""
        await self._disk.save(snapshot)
        self._note("snapshot_saved", snapshot)

    async def load(self) -> SavedSnapshot | None:
        """Give what was saved last."""
        found = await self._disk.load()
        self._note("snapshot_loaded", found)
        return found

    def _note(self, kind: str, snapshot: SavedSnapshot | None) -> None:
        ids = () if snapshot is None else (one.key.id for one in snapshot.keys)
        version = 0 if snapshot is None else snapshot.version
        self._journal.note(kind, self._host, version=version, ids=" ".join(ids))
