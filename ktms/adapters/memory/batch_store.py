"""Batches in memory, as their owners see them."""

from collections.abc import Sequence

from ktms.adapters.memory.shelf import BatchRow, FileRow, MemoryShelf
from ktms.domain.access.actor import Actor
from ktms.domain.batch.batch import BATCHES_OPEN_MAX, PURPOSE, RESULT_PURPOSE, Batch, NewBatch, NewFile
from ktms.domain.batch.names import BatchId
from ktms.domain.batch.state import CANCELLABLE, ENDED, BatchState
from ktms.domain.ids import KeyId
from ktms.ports.batch_store import OtherBatch, TooManyBatches


class MemoryBatchStore:
    """Implements the port BatchStore."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def create(self, batch: NewBatch) -> Batch | None:
        """Store a batch."""
        shelf, now = self._shelf, self._shelf.now()
        known = self._made_once(batch)
        if known is not None:
            return shelf.shown(known)
        if batch.id not in shelf.batches:
            given = shelf.files.get(batch.input_file)
            if given is None or not given.finished or given.new.owner != batch.owner or given.purpose != PURPOSE:
                return None
            if self._open(batch.owner) >= BATCHES_OPEN_MAX:
                raise TooManyBatches
            shelf.check_room(batch.owner, 1, batch.owner_max)
            shelf.batches[batch.id] = BatchRow(batch, now)
            for file, word in ((batch.output_file, "output"), (batch.error_file, "error")):
                name = f"{batch.id}_{word}.jsonl"
                new = NewFile(file, batch.owner, batch.tenant, name, batch.keep_s)
                shelf.files[file] = FileRow(new, RESULT_PURPOSE, now)
        return shelf.shown(shelf.batches[batch.id])

    async def find(self, batch: BatchId, owner: KeyId | None) -> Batch | None:
        """Give a batch."""
        self._shelf.now()
        row = self._owned(batch, owner)
        return None if row is None else self._shelf.shown(row)

    async def list(self, owner: KeyId | None, limit: int, after: BatchId | None) -> Sequence[Batch]:
        """Give batches, newest first."""
        self._shelf.now()
        rows = [
            row
            for name, row in sorted(self._shelf.batches.items(), reverse=True)
            if owner in (None, row.new.owner) and (after is None or name < after)
        ]
        return [self._shelf.shown(row) for row in rows[:limit]]

    async def cancel(self, batch: BatchId, by: KeyId | Actor) -> Batch | None:
        """Cancel a batch that may be."""
        actor = by if isinstance(by, Actor) else None
        now, row = self._shelf.now(), self._owned(batch, None if isinstance(by, Actor) else by)
        if row is None:
            return None
        if row.state in CANCELLABLE:
            row.enter(BatchState.CANCELLING, now)
            if actor is not None:
                self._shelf.audited(actor, "cancel_batch", batch)
        return self._shelf.shown(row)

    def _made_once(self, batch: NewBatch) -> BatchRow | None:
        for row in self._shelf.batches.values():
            made = row.new.once
            if made and batch.once and row.new.owner == batch.owner and made.word == batch.once.word:
                if made.digest != batch.once.digest:
                    raise OtherBatch
                return row
        return None

    def _open(self, owner: KeyId) -> int:
        return sum(row.new.owner == owner and row.state not in ENDED for row in self._shelf.batches.values())

    def _owned(self, batch: BatchId, owner: KeyId | None) -> BatchRow | None:
        row = self._shelf.batches.get(batch)
        return row if row is not None and owner in (None, row.new.owner) else None
