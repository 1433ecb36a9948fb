"""Files and batches as one replica has them: the product's memory stores behind the database's line.

A question that is broken off may have taken effect all the same, as with a real commit. Results that are stored
are facts; so are lines that are claimed, by a replica.
"""

from collections.abc import Collection, Mapping, Sequence

from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.batch_upkeep import MemoryBatchUpkeep
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.line_store import MemoryLineStore
from ktms.domain.access.actor import Actor
from ktms.domain.batch.batch import Batch, FileComplaint, NewBatch, NewFile, StoredFile
from ktms.domain.batch.line import ClaimedLine, LineRef
from ktms.domain.batch.names import BatchId, FileId
from ktms.domain.ids import KeyId
from ktms.ports.batch_upkeep import Examination, Moved, NewLine
from ktms.ports.file_index import FilePage
from ktms.ports.file_store import Piece
from ktms.ports.line_store import LineResult, ReadyBatch
from sim.fakes.postgres.server import Line
from sim.journal.journal import Journal


class SimFileStore:
    """Implements the ports `FileStore` and `FileIndex`."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._stored = MemoryFileStore(line.server.shelf)

    async def begin(self, file: NewFile) -> None:
        """Begin a file; that there is no room is an answer, given at the database."""
        await self._line.ask("begin_file", lambda: self._stored.begin(file), _done, early=False)

    async def append(self, file: FileId, pieces: Sequence[Piece]) -> None:
        """Add pieces."""
        await self._line.ask("append_file", lambda: self._stored.append(file, pieces), _done)

    async def finish(self, file: FileId) -> StoredFile:
        """Let the file be seen."""
        return await self._line.ask("finish_file", lambda: self._stored.finish(file), lambda found: found.id)

    async def read(self, file: FileId, first: int, most: int) -> Sequence[Piece]:
        """Give pieces from this number on."""
        return await self._line.ask("read_file", lambda: self._stored.read(file, first, most), _count)

    async def delete(self, file: FileId, owner: KeyId | None = None) -> bool:
        """Delete a file; that it is in use is an answer, given at the database."""
        return await self._line.ask("delete_file", lambda: self._stored.delete(file, owner), str, early=False)

    async def find(self, file: FileId, owner: KeyId) -> StoredFile | None:
        """Give a file."""
        return await self._line.ask("find_file", lambda: self._stored.find(file, owner), _there)

    async def list(self, owner: KeyId, page: FilePage) -> Sequence[StoredFile]:
        """Give files."""
        return await self._line.ask("list_files", lambda: self._stored.list(owner, page), _count)


class SimBatchStore:
    """Implements the port `BatchStore`."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._stored = MemoryBatchStore(line.server.shelf)

    async def create(self, batch: NewBatch) -> Batch | None:
        """Store a batch."""
        return await self._line.ask("create_batch", lambda: self._stored.create(batch), _there, early=False)

    async def find(self, batch: BatchId, owner: KeyId | None) -> Batch | None:
        """Give a batch."""
        return await self._line.ask("find_batch", lambda: self._stored.find(batch, owner), _there)

    async def list(self, owner: KeyId | None, limit: int, after: BatchId | None) -> Sequence[Batch]:
        """Give batches, newest first."""
        return await self._line.ask("list_batches", lambda: self._stored.list(owner, limit, after), _count)

    async def cancel(self, batch: BatchId, by: KeyId | Actor) -> Batch | None:
        """Cancel a batch that may be."""
        return await self._line.ask("cancel_batch", lambda: self._stored.cancel(batch, by), _there)


class SimLineStore:
    """Implements the port `LineStore`."""

    def __init__(self, line: Line, journal: Journal) -> None:
        self._line = line
        self._journal = journal
        self._stored = MemoryLineStore(line.server.shelf)

    async def ready(self) -> Sequence[ReadyBatch]:
        """Give batches with lines to be run."""
        return await self._line.ask("ready_batches", self._stored.ready, _count)

    async def claim(self, batch: BatchId, most: int) -> Sequence[ClaimedLine]:
        """Claim lines of a batch."""

        async def claim() -> Sequence[ClaimedLine]:
            found = await self._stored.claim(batch, most)
            for line in found:
                self._note("line_claimed", line.ref)
            return found

        return await self._line.ask("claim_lines", claim, _count)

    async def renew(self, lines: Collection[LineRef]) -> Mapping[LineRef, bool]:
        """Renew claims."""
        return await self._line.ask("renew_lines", lambda: self._stored.renew(lines), _count)

    async def finish(self, line: LineRef, result: LineResult) -> bool:
        """Store the result of a line."""

        async def finish() -> bool:
            fresh = self._line.server.shelf.held(line) is not None
            stored = await self._stored.finish(line, result)
            if fresh:
                self._note("line_stored", line, end=result.end.value)
            return stored

        return await self._line.ask("finish_line", finish, str)

    async def give_back(self, line: LineRef, pause_s: float, *, failed: bool) -> None:
        """Let a line be run again."""
        await self._line.ask("give_back_line", lambda: self._stored.give_back(line, pause_s, failed=failed), _done)

    def _note(self, kind: str, ref: LineRef, **members: str) -> None:
        self._journal.note(kind, self._line.host, batch=ref.batch, line=ref.number, claim=ref.claim, **members)


class SimBatchUpkeep:
    """Implements the port `BatchUpkeep`."""

    def __init__(self, line: Line, journal: Journal) -> None:
        self._line = line
        self._journal = journal
        self._stored = MemoryBatchUpkeep(line.server.shelf)

    async def examine(self) -> Examination | None:
        """Claim a batch to be examined."""

        async def examine() -> Examination | None:
            found = await self._stored.examine()
            if found is not None:
                self._journal.note("batch_examined", self._line.host, batch=found.batch, claim=found.claim)
            return found

        return await self._line.ask("examine_batch", examine, _there, early=False)

    async def add_lines(self, examination: Examination, lines: Sequence[NewLine]) -> bool:
        """Store lines that were found."""
        return await self._line.ask("add_lines", lambda: self._stored.add_lines(examination, lines), str)

    async def examined(self, examination: Examination, complaints: Sequence[FileComplaint]) -> None:
        """End an examination."""
        await self._line.ask("end_examination", lambda: self._stored.examined(examination, complaints), _done)

    async def move_on(self) -> Sequence[Moved]:
        """Take lines back from the dead, and move batches on."""

        async def move() -> Sequence[Moved]:
            found = await self._stored.move_on()
            for moved in found:
                self._journal.note("batch_moved", self._line.host, batch=moved.batch, state=moved.state.value)
            return found

        return await self._line.ask("move_batches", move, _count)

    async def waiting(self) -> int:
        """Count the lines that wait."""
        return await self._line.ask("count_lines", self._stored.waiting, str)

    async def forget_old(self) -> int:
        """Delete files and batches whose time is over."""
        return await self._line.ask("forget_batches", self._stored.forget_old, str)


def _done(_: None) -> str:
    return "done"


def _count(found: Collection[object]) -> str:
    return str(len(found))


def _there(found: object | None) -> str:
    return "none" if found is None else "there"
