"""Files in memory."""

from collections.abc import Sequence

from ktms.adapters.memory.shelf import MemoryShelf, uploaded
from ktms.domain.batch.batch import NewFile, StoredFile
from ktms.domain.batch.names import FileId
from ktms.domain.ids import KeyId
from ktms.ports.file_index import FilePage
from ktms.ports.file_store import FileInUse, Piece


class MemoryFileStore:
    """Implements the ports FileStore and FileIndex."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def begin(self, file: NewFile) -> None:
        """Begin a file."""
        now = self._shelf.now()
        self._shelf.check_room(file.owner, file.size_max, file.owner_max)
        self._shelf.files[file.id] = uploaded(file, now)

    async def append(self, file: FileId, pieces: Sequence[Piece]) -> None:
        """Add pieces."""
        self._shelf.now()
        self._shelf.files[file].pieces.update((piece.number, piece.content) for piece in pieces)

    async def finish(self, file: FileId) -> StoredFile:
        """Let the file be seen."""
        self._shelf.now()
        row = self._shelf.files[file]
        row.finished = True
        return row.shown()

    async def read(self, file: FileId, first: int, most: int) -> Sequence[Piece]:
        """Give pieces from this number on."""
        self._shelf.now()
        row = self._shelf.files.get(file)
        numbers = [] if row is None else sorted(number for number in row.pieces if number >= first)
        return [] if row is None else [Piece(number, row.pieces[number]) for number in numbers[:most]]

    async def delete(self, file: FileId, owner: KeyId | None = None) -> bool:
        """Delete a file."""
        self._shelf.now()
        row = self._shelf.files.get(file)
        if row is None or owner not in (None, row.new.owner):
            return False
        if self._shelf.in_use(file):
            raise FileInUse
        del self._shelf.files[file]
        return True

    async def find(self, file: FileId, owner: KeyId) -> StoredFile | None:
        """Give a file."""
        self._shelf.now()
        row = self._shelf.files.get(file)
        return row.shown() if row is not None and row.finished and row.new.owner == owner else None

    async def list(self, owner: KeyId, page: FilePage) -> Sequence[StoredFile]:
        """Give files."""
        self._shelf.now()
        rows = [
            row
            for name, row in sorted(self._shelf.files.items(), reverse=page.newest_first)
            if row.finished
            and row.new.owner == owner
            and page.purpose in (None, row.purpose)
            and (page.after is None or (name < page.after if page.newest_first else name > page.after))
        ]
        return [row.shown() for row in rows[: page.limit]]
