"""Batches in memory, kept going as in the database."""

from collections.abc import Sequence

from ktms.adapters.memory.shelf import RUNNING, WAITING, BatchRow, LineRow, MemoryShelf
from ktms.domain.batch.batch import PURPOSE, FileComplaint
from ktms.domain.batch.state import ENDED, BatchState, due
from ktms.domain.ids import KeyId
from ktms.ports.batch_upkeep import FORGOTTEN_AT_ONCE, UNFINISHED_MAX_S, Examination, Moved, NewLine
from ktms.ports.file_store import result_pieces
from ktms.ports.line_store import LEASE_S, LineEnd


class MemoryBatchUpkeep:
    """Implements the port BatchUpkeep."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def examine(self) -> Examination | None:
        """Claim a batch to be examined."""
        now, turns = self._shelf.now(), self._turns()
        waiting = [
            row
            for row in self._shelf.oldest()
            if row.state is BatchState.VALIDATING and row.lease_until <= now < row.expires_at
        ]
        if not waiting:
            return None
        row = min(waiting, key=lambda one: turns[one.new.owner])
        row.claim, row.lease_until = row.claim + 1, now + LEASE_S
        self._drop_lines(row)
        return Examination(row.new.id, row.claim, row.new.input_file, row.new.route)

    async def add_lines(self, examination: Examination, lines: Sequence[NewLine]) -> bool:
        """Store lines that were found."""
        now, row = self._shelf.now(), self._examined(examination)
        if row is None:
            return False
        row.lease_until = now + LEASE_S
        for new in lines:
            line = LineRow(new.number, new.start, new.size_bytes)
            if new.error is not None:
                line.state = LineEnd.FAILED.value
                pieces = result_pieces(new.number, new.error)
                errors = self._shelf.results_of(row, ok=False)
                errors.pieces.update((piece.number, piece.content) for piece in pieces)
            row.lines[new.number] = line
        return True

    async def examined(self, examination: Examination, complaints: Sequence[FileComplaint]) -> None:
        """End an examination."""
        now, row = self._shelf.now(), self._examined(examination)
        if row is not None and complaints:
            row.complaints = tuple(complaints)
            self._drop_lines(row)
            self._enter(row, BatchState.FAILED, now)
        elif row is not None:
            self._enter(row, BatchState.IN_PROGRESS, now)

    async def move_on(self) -> Sequence[Moved]:
        """Take lines back from the dead, and move batches on."""
        now = self._shelf.now()
        found: list[Moved] = []
        for row in self._shelf.oldest():
            for line in row.lines.values():
                if line.state == RUNNING and line.lease_until <= now:
                    line.state, line.deaths = WAITING, line.deaths + 1
            while (state := due(row.state, row.progress(), over=row.expires_at <= now)) is not None:
                if state is BatchState.EXPIRED and row.state is BatchState.VALIDATING:
                    self._drop_lines(row)
                self._enter(row, state, now)
                found.append(Moved(row.new.id, state))
        return found

    async def waiting(self) -> int:
        """Count the lines that wait."""
        self._shelf.now()
        rows = [row for row in self._shelf.oldest() if row.state not in ENDED]
        return sum(line.state == WAITING for row in rows for line in row.lines.values())

    async def forget_old(self) -> int:
        """Delete files and batches whose time is over."""
        now, shelf = self._shelf.now(), self._shelf
        old = [
            name
            for name, row in shelf.files.items()
            if not shelf.in_use(name)
            and (
                row.expires_at <= now
                or (not row.finished and row.purpose == PURPOSE and row.created_at + UNFINISHED_MAX_S <= now)
            )
        ][:FORGOTTEN_AT_ONCE]
        for name in old:
            del shelf.files[name]
        ended = [
            name
            for name, batch in shelf.batches.items()
            if batch.state in ENDED and batch.created_at + batch.new.keep_s <= now
        ][:FORGOTTEN_AT_ONCE]
        for batch_name in ended:
            del shelf.batches[batch_name]
        return len(old) + len(ended)

    def _turns(self) -> dict[KeyId, float]:
        """Give until when each owner's last examination may last, which tells who was not examined for longest."""
        turns: dict[KeyId, float] = {}
        for row in self._shelf.batches.values():
            turns[row.new.owner] = max(row.lease_until, turns.get(row.new.owner, row.lease_until))
        return turns

    def _examined(self, examination: Examination) -> BatchRow | None:
        row = self._shelf.batches.get(examination.batch)
        holds = row is not None and row.state is BatchState.VALIDATING and row.claim == examination.claim
        return row if holds else None

    def _drop_lines(self, row: BatchRow) -> None:
        row.lines.clear()
        self._shelf.results_of(row, ok=False).pieces.clear()

    def _enter(self, row: BatchRow, state: BatchState, now: float) -> None:
        row.enter(state, now)
        if state in ENDED:
            self._shelf.let_results_be_seen(row)
