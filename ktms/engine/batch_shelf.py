"""Files and batches of one client: what its doors may do, and what it is told when that does not work.

Rules: everything belongs to the key that made it, and nobody else learns that it is there; an upload that breaks
off leaves nothing; while the store is away nothing begins; a batch of which its client was not told is withdrawn,
unless the client has a word to find it by (`batch_doubts.py`).
Not here: running batches (`batch_worker.py`), forms (doors, dialects).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ktms.domain.access.client_key import ClientKey
from ktms.domain.batch.batch import (
    BATCHES_OPEN_MAX,
    FILES_MAX_BYTES,
    PURPOSE,
    Batch,
    NewBatch,
    NewFile,
    StoredFile,
)
from ktms.domain.batch.names import BatchId, FileId, batch_id, file_id
from ktms.domain.batch.state import BatchState
from ktms.domain.errors import CallFailed, ErrorCode, Problem, problem
from ktms.engine.admit import Admission
from ktms.engine.batch_doubts import Doubts
from ktms.engine.drain import Drain
from ktms.engine.ids import Identities
from ktms.ports.batch_store import BatchStore, OtherBatch, TooManyBatches
from ktms.ports.catalogue import StoreAway
from ktms.ports.file_index import FileIndex, FilePage
from ktms.ports.file_store import PIECE_BYTES, PIECES_AT_ONCE, FileInUse, FilesFull, FileStore, Piece
from ktms.ports.secrets import DecryptFailed
from ktms.ports.telemetry import Dependency, Telemetry

RETRY_S = 2.0
"""When to come back while the store is away."""

TURN_RETRY_S = 60.0
"""When to come back while as many batches as may be have not ended; they last for hours."""

MIB = 1024 * 1024

CLEAN_UP_S = 3.0
"""What the removal of an upload that broke off may take; else it goes when uploads that never ended do."""

_AWAY = problem(
    ErrorCode.STORE_UNAVAILABLE, "Files and batches cannot be reached right now.", retry_after_s=RETRY_S
)
_NOT_STARTED = problem(
    ErrorCode.IDEMPOTENCY_UNAVAILABLE,
    "Whether this batch was made already cannot be told right now; nothing was started.",
    retry_after_s=RETRY_S,
)
_TOO_MANY = problem(
    ErrorCode.RATE_LIMIT_EXCEEDED,
    f"This key has {BATCHES_OPEN_MAX} batches that have not ended; come back when one has.",
    retry_after_s=TURN_RETRY_S,
)
_DRAINING = problem(ErrorCode.DRAINING, "This replica is shutting down; ask another.", retry_after_s=1)
_UNREADABLE = problem(ErrorCode.INTERNAL_ERROR, "The stored content of this file cannot be read.")


@dataclass(frozen=True, slots=True)
class ShelfMeans:
    """What it takes. `keep_s`: how long files and batches are kept; `files_max`: bytes of all files of a key."""

    admission: Admission
    files: FileStore
    index: FileIndex
    batches: BatchStore
    identities: Identities
    drain: Drain
    telemetry: Telemetry
    keep_s: float
    files_max: int = FILES_MAX_BYTES


@dataclass(frozen=True, slots=True)
class ComingFile:
    """What is told of a file before it comes. `keep_s` None: as long as files are kept."""

    name: str
    keep_s: float | None
    size_max: int


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file and its content as it is read; `first` has been read."""

    file: StoredFile
    first: Sequence[Piece]


class ClientShelf:
    """Files and batches, as a door asks for them. All methods but `admit` take a verified key.

    All raise CallFailed with what the client is to be told. `stirred` is set when a batch may be due to move on.
    """

    def __init__(self, means: ShelfMeans) -> None:
        self._means = means
        self.doubts = Doubts(means.batches, means.telemetry)
        self.stirred = asyncio.Event()

    async def admit(self, token: str) -> ClientKey:
        """Give the key behind a token; a replica that leaves begins nothing."""
        if not self._means.drain.takes_calls:
            raise CallFailed(_DRAINING)
        return await self._means.admission.admit(token)

    async def upload(self, key: ClientKey, file: ComingFile, content: AsyncIterator[bytes]) -> StoredFile:
        """Store a file as it comes; a client that leaves, and content that raises, leave nothing behind."""
        means = self._means
        new = NewFile(
            file_id(means.identities.request()),
            key.id,
            key.tenant,
            file.name,
            min(file.keep_s or means.keep_s, means.keep_s),
            file.size_max,
            means.files_max,
        )
        with self._told("upload_file"):
            await means.files.begin(new)
        try:
            with self._told("upload_file"):
                async for number, pieces in _grouped(content):
                    numbered = [Piece(number + at, piece) for at, piece in enumerate(pieces)]
                    await means.files.append(new.id, numbered)
                return await means.files.finish(new.id)
        except BaseException:
            await self._remove(new.id)
            raise

    async def file(self, key: ClientKey, file: FileId | None) -> StoredFile:
        """Give a file."""
        with self._told("find_file"):
            found = None if file is None else await self._means.index.find(file, key.id)
        if found is None:
            raise CallFailed(_missing("file"))
        return found

    async def files(self, key: ClientKey, page: FilePage) -> Sequence[StoredFile]:
        """Give a page of files."""
        with self._told("list_files"):
            return await self._means.index.list(key.id, page)

    async def content(self, key: ClientKey, file: FileId | None) -> FileContent:
        """Give a file and the beginning of its content."""
        found = await self.file(key, file)
        return FileContent(found, await self.pieces(found.id, 0))

    async def pieces(self, file: FileId, first: int) -> Sequence[Piece]:
        """Give more of a file's content; none: that was all."""
        with self._told("read_file"):
            return await self._means.files.read(file, first, PIECES_AT_ONCE)

    async def delete(self, key: ClientKey, file: FileId | None) -> FileId:
        """Delete a file."""
        try:
            with self._told("delete_file"):
                gone = file is not None and await self._means.files.delete(file, key.id)
        except FileInUse as error:
            message = "A batch that has not ended needs this file; cancel it first."
            raise CallFailed(problem(ErrorCode.CONFLICT, message)) from error
        if file is None or not gone:
            raise CallFailed(_missing("file"))
        return file

    def new_names(self) -> tuple[BatchId, FileId, FileId]:
        """Give a new batch its name, and those of its two result files."""
        fresh = self._means.identities.request
        return batch_id(fresh()), file_id(fresh()), file_id(fresh())

    async def make(self, batch: NewBatch) -> Batch:
        """Make a batch, or give the one that was made under the client's word for it."""
        try:
            with self._told("create_batch", _NOT_STARTED):
                made = await self._create(replace(batch, owner_max=self._means.files_max))
        except OtherBatch as error:
            raise CallFailed(_OTHER_BATCH) from error
        except TooManyBatches as error:
            raise CallFailed(_TOO_MANY) from error
        if made is None:
            raise CallFailed(_missing(f"file of purpose `{PURPOSE}`", "input_file_id"))
        self.stirred.set()
        return made

    async def _create(self, batch: NewBatch) -> Batch | None:
        try:
            return await self._means.batches.create(batch)
        except (StoreAway, asyncio.CancelledError):
            self.doubts.of(batch)
            raise

    async def batch(self, key: ClientKey, batch: BatchId | None) -> Batch:
        """Give a batch."""
        with self._told("find_batch"):
            found = None if batch is None else await self._means.batches.find(batch, key.id)
        if found is None:
            raise CallFailed(_missing("batch"))
        return found

    async def batch_list(self, key: ClientKey, limit: int, after: BatchId | None) -> Sequence[Batch]:
        """Give a page of batches, newest first."""
        with self._told("list_batches"):
            return await self._means.batches.list(key.id, limit, after)

    async def cancel(self, key: ClientKey, batch: BatchId | None) -> Batch:
        """Cancel a batch; twice is harmless, one that has ended is told so."""
        with self._told("cancel_batch"):
            found = None if batch is None else await self._means.batches.cancel(batch, key.id)
        if found is None:
            raise CallFailed(_missing("batch"))
        if found.state not in (BatchState.CANCELLING, BatchState.CANCELLED):
            message = f"Cannot cancel a batch with status {found.state.value!r}."
            raise CallFailed(problem(ErrorCode.CONFLICT, message))
        self.stirred.set()
        return found

    async def _remove(self, file: FileId) -> None:
        """Remove what there is of an upload, as well as that can be done now."""
        try:
            async with asyncio.timeout(CLEAN_UP_S):
                await self._means.files.delete(file)
        except (StoreAway, TimeoutError, FileInUse):
            self._means.telemetry.dependency_failed(Dependency.POSTGRES, "remove_upload", "away")

    @contextmanager
    def _told(self, operation: str, away: Problem = _AWAY) -> Iterator[None]:
        try:
            yield
        except StoreAway as error:
            self._means.telemetry.dependency_failed(Dependency.POSTGRES, operation, "away")
            raise CallFailed(away) from error
        except FilesFull as error:
            message = f"The files of this key may have {self._means.files_max // MIB} MB together; delete some."
            raise CallFailed(problem(ErrorCode.REQUEST_TOO_LARGE, message, param="file")) from error
        except DecryptFailed as error:
            self._means.telemetry.event("error", "file_unreadable", table=error.table, row=error.row)
            raise CallFailed(_UNREADABLE) from error


_OTHER_BATCH = Problem(
    ErrorCode.IDEMPOTENCY_CONFLICT.value,
    problem(ErrorCode.IDEMPOTENCY_CONFLICT, "").type,
    "This Idempotency-Key was used for another request; nothing was started.",
    "Idempotency-Key",
    status=422,
)


def _missing(what: str, param: str | None = None) -> Problem:
    return problem(ErrorCode.NOT_FOUND, f"This key has no such {what}.", param=param)


async def _grouped(content: AsyncIterator[bytes]) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Cut content into pieces, and give them in groups, each with the number of its first."""
    number, rest = 0, bytearray()
    group_bytes = PIECE_BYTES * PIECES_AT_ONCE
    async for part in content:
        rest += part
        while len(rest) >= group_bytes:
            yield number, _cut(rest[:group_bytes])
            number += PIECES_AT_ONCE
            del rest[:group_bytes]
    if rest:
        yield number, _cut(rest)


def _cut(data: bytearray) -> list[bytes]:
    return [bytes(data[at : at + PIECE_BYTES]) for at in range(0, len(data), PIECE_BYTES)]
