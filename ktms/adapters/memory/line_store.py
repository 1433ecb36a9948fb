"""Lines of batches in memory, handed out as the database does."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ktms.adapters.memory.shelf import RUNNING, WAITING, BatchRow, LineRow, MemoryShelf
from ktms.domain.batch.line import ClaimedLine, LineRef
from ktms.domain.batch.names import BatchId
from ktms.domain.batch.state import BatchState
from ktms.domain.ids import KeyId
from ktms.ports.file_store import result_pieces
from ktms.ports.line_store import LEASE_S, READY_MAX, LineEnd, LineResult, ReadyBatch

RUNS = frozenset({BatchState.IN_PROGRESS, BatchState.FINALIZING})
"""Lines are handed out; in the second state to be ended."""


class MemoryLineStore:
    """Implements the port LineStore."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def ready(self) -> Sequence[ReadyBatch]:
        """Give batches with lines to be run."""
        now = self._shelf.now()
        found: list[tuple[int, ReadyBatch]] = []
        turns: Counter[KeyId] = Counter()
        for row in self._shelf.oldest():
            if row.state in RUNS and any(_is_due(row, line, now) for line in row.lines.values()):
                found.append((turns[row.new.owner], ReadyBatch(row.new.id, row.new.owner)))
                turns[row.new.owner] += 1
        found.sort(key=lambda one: one[0])
        return [batch for _, batch in found[:READY_MAX]]

    async def claim(self, batch: BatchId, most: int) -> Sequence[ClaimedLine]:
        """Claim lines of a batch."""
        now = self._shelf.now()
        row = self._shelf.batches.get(batch)
        if row is None or row.state not in RUNS:
            return []
        due = [line for _, line in sorted(row.lines.items()) if _is_due(row, line, now)][:most]
        for line in due:
            line.state, line.lease_until = RUNNING, now + LEASE_S
            line.claim += 1
        return [_claimed(row, line, now) for line in due]

    async def renew(self, lines: Collection[LineRef]) -> Mapping[LineRef, bool]:
        """Renew claims."""
        now = self._shelf.now()
        held: dict[LineRef, bool] = {}
        for ref in lines:
            line = self._shelf.held(ref)
            if line is not None:
                line.lease_until = now + LEASE_S
                held[ref] = self._shelf.batches[ref.batch].state in RUNS
        return held

    async def finish(self, line: LineRef, result: LineResult) -> bool:
        """Store the result of a line."""
        self._shelf.now()
        held = self._shelf.held(line)
        if held is None:
            row = self._shelf.batches.get(line.batch)
            known = None if row is None else row.lines.get(line.number)
            return known is not None and known.claim == line.claim and known.state == result.end.value
        file = self._shelf.results_of(self._shelf.batches[line.batch], ok=result.end is LineEnd.DONE)
        pieces = result_pieces(line.number, result.text)
        file.pieces.update((piece.number, piece.content) for piece in pieces)
        held.state = result.end.value
        return True

    async def give_back(self, line: LineRef, pause_s: float, *, failed: bool) -> None:
        """Let a line be run again."""
        now, held = self._shelf.now(), self._shelf.held(line)
        if held is not None:
            held.state, held.not_before = WAITING, now + pause_s
            held.failures += failed


def _is_due(row: BatchRow, line: LineRow, now: float) -> bool:
    return line.state == WAITING and (line.not_before <= now or row.state is BatchState.FINALIZING)


def _claimed(row: BatchRow, line: LineRow, now: float) -> ClaimedLine:
    return ClaimedLine(
        ref=LineRef(row.new.id, line.number, line.claim),
        owner=row.new.owner,
        route=row.new.route,
        input_file=row.new.input_file,
        start=line.start,
        size_bytes=line.size_bytes,
        left_s=row.expires_at - now if row.state is BatchState.IN_PROGRESS else 0.0,
        failures=line.failures,
        deaths=line.deaths,
    )
