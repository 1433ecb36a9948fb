"""Where a replica saves what it would need to start without Postgres."""

from typing import Protocol

from ktms.domain.saved_snapshot import SavedSnapshot


class SnapshotUnusable(Exception):
    """What is saved cannot be read, or it cannot be saved; the message says why, and holds nothing of it."""


class SnapshotFile(Protocol):
    """Keeps one saved snapshot, the last one, past the life of the process; nobody else can read it."""

    async def save(self, snapshot: SavedSnapshot) -> None:
        """Put this in the place of what is there; whoever reads meanwhile finds the one or the other, whole.

        Raises:
            SnapshotUnusable: it was not saved; what was there is still there.
        """
        ...

    async def load(self) -> SavedSnapshot | None:
        """Give what was saved last; None where nothing ever was.

        Its `saved_at.monotonic` is None where this machine was started anew since, or is another one.

        Raises:
            SnapshotUnusable: damaged, sealed under another key, written by another release, or not readable.
        """
        ...
