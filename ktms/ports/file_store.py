"""Files of clients, in pieces: never is a whole one in memory on either side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.batch.batch import NewFile, StoredFile
from ktms.domain.batch.names import FileId
from ktms.domain.ids import KeyId

PIECE_BYTES = 60 * 1024
"""A piece with its envelope fits into the largest one there is (64 KiB).

Every piece of an uploaded file but its last has this size, so the one that holds a byte is known without asking.
"""

PIECES_AT_ONCE = 16
"""About a megabyte per round trip, on both ways."""


class FileInUse(Exception):
    """A batch that has not ended needs the file."""


class FilesFull(Exception):
    """The files of this key have no room for more."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece; numbers grow, and those of an uploaded file leave none out."""

    number: int
    content: bytes


PARTS_MAX = 1 << 12
"""Pieces of one result; the largest answer that we take has some 1,100."""


def result_pieces(line: int, text: bytes) -> Sequence[Piece]:
    """Cut the result of a line into the pieces of its file: they stand in the order of the lines."""
    assert len(text) <= PARTS_MAX * PIECE_BYTES, "an answer is bounded long before"
    cuts = range(0, len(text), PIECE_BYTES)
    return [Piece(line * PARTS_MAX + part, text[at : at + PIECE_BYTES]) for part, at in enumerate(cuts)]


class FileStore(Protocol):
    """Keeps content encrypted. All raise StoreAway (ports/catalogue.py) when the store does not answer."""

    async def begin(self, file: NewFile) -> None:
        """Begin a file that nobody sees before it is finished; one that never is goes by itself.

        Until then it counts as large as it may become.

        Raises:
            FilesFull: with it its owner would have more than may be; nothing was begun.
        """
        ...

    async def append(self, file: FileId, pieces: Sequence[Piece]) -> None:
        """Add pieces, PIECES_AT_ONCE at most."""
        ...

    async def finish(self, file: FileId) -> StoredFile:
        """Let the file be seen, and give it."""
        ...

    async def read(self, file: FileId, first: int, most: int) -> Sequence[Piece]:
        """Give the pieces from this number on, in order, `most` at most; none where the file is gone.

        Raises:
            DecryptFailed: what is stored was damaged, or its key is not here (ports/secrets.py).
        """
        ...

    async def delete(self, file: FileId, owner: KeyId | None = None) -> bool:
        """Delete a file, finished or not; False when there is none, or another key's (None: whoever owns it).

        Raises:
            FileInUse: as told; nothing was deleted.
        """
        ...
