"""Files and batches of one installation in memory, as one database would hold them.

For tests, simulated worlds and the contract suites: nothing is encrypted, nothing outlives the process. Not here:
the ports over it (`file_store.py`, `batch_store.py`, `line_store.py`, `batch_upkeep.py`).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ktms.adapters.memory.store import AuditEntry, MemoryStore
from ktms.domain.access.actor import Actor
from ktms.domain.batch.batch import PURPOSE, Batch, BatchTimes, FileComplaint, NewBatch, NewFile, StoredFile
from ktms.domain.batch.line import LineRef
from ktms.domain.batch.names import BatchId, FileId
from ktms.domain.batch.state import ENDED, BatchState, Progress
from ktms.domain.ids import KeyId
from ktms.ports.clock import Clock
from ktms.ports.file_store import FilesFull

WAITING, RUNNING = "waiting", "running"
"""States of a line besides those of its end (ports/line_store.py)."""


@dataclass(slots=True)
class FileRow:
    """One file; without `finished` nobody sees it."""

    new: NewFile
    purpose: str
    created_at: float
    pieces: dict[int, bytes] = field(default_factory=dict)
    finished: bool = False

    @property
    def expires_at(self) -> float:
        """When it is deleted."""
        return self.created_at + self.new.keep_s

    @property
    def room_bytes(self) -> int:
        """What it takes of its owner's room."""
        return sum(map(len, self.pieces.values())) if self.finished else self.new.size_max

    def shown(self) -> StoredFile:
        """Give it as its owner sees it."""
        size = sum(map(len, self.pieces.values()))
        new = self.new
        return StoredFile(new.id, new.owner, new.name, self.purpose, size, self.created_at, self.expires_at)


@dataclass(slots=True)
class LineRow:
    """One line."""

    number: int
    start: int
    size_bytes: int
    state: str = WAITING
    claim: int = 0
    lease_until: float = 0.0
    not_before: float = 0.0
    failures: int = 0
    deaths: int = 0


@dataclass(slots=True)
class BatchRow:
    """One batch with its lines. `entered` has the moment of each state."""

    new: NewBatch
    created_at: float
    state: BatchState = BatchState.VALIDATING
    entered: dict[BatchState, float] = field(default_factory=dict)
    lines: dict[int, LineRow] = field(default_factory=dict)
    complaints: tuple[FileComplaint, ...] = ()
    claim: int = 0
    lease_until: float = 0.0

    @property
    def expires_at(self) -> float:
        """When its window ends."""
        return self.created_at + self.new.window_s

    def progress(self) -> Progress:
        """Count its lines."""
        return Progress(**Counter(line.state for line in self.lines.values()))

    def enter(self, state: BatchState, now: float) -> None:
        """Enter a state."""
        self.state = state
        self.entered[state] = now


class MemoryShelf:
    """The state itself. `store` may be away, and the shelf is so with it."""

    def __init__(self, clock: Clock, store: MemoryStore | None = None) -> None:
        self._clock = clock
        self._store = store or MemoryStore()
        self.files: dict[FileId, FileRow] = {}
        self.batches: dict[BatchId, BatchRow] = {}

    def now(self) -> float:
        """Give the store's own time.

        Raises:
            StoreAway: it is away.
        """
        self._store.check_here()
        return self._clock.wall()

    def audited(self, actor: Actor, action: str, batch: BatchId) -> None:
        """Note who did what."""
        self._store.audit.append(AuditEntry(actor, action, f"batch {batch}"))

    def in_use(self, file: FileId) -> bool:
        """Whether a batch that has not ended needs this file."""
        return any(file in files_of(row.new) and row.state not in ENDED for row in self.batches.values())

    def check_room(self, owner: KeyId, more: int, most: int) -> None:
        """Hold the files of an owner within what they may have.

        Raises:
            FilesFull: they would have more.
        """
        if sum(row.room_bytes for row in self.files.values() if row.new.owner == owner) + more > most:
            raise FilesFull

    def held(self, ref: LineRef) -> LineRow | None:
        """Give the line of a claim, while it holds."""
        row = self.batches.get(ref.batch)
        line = None if row is None else row.lines.get(ref.number)
        return line if line is not None and line.state == RUNNING and line.claim == ref.claim else None

    def shown(self, row: BatchRow) -> Batch:
        """Give a batch as its owner sees it."""
        new, progress, entered = row.new, row.progress(), row.entered
        counted = row.state is not BatchState.VALIDATING
        return Batch(
            id=new.id,
            owner=new.owner,
            tenant=new.tenant,
            input_file=new.input_file,
            route=new.route,
            state=row.state,
            times=BatchTimes(
                row.created_at,
                row.expires_at,
                *(entered.get(state) for state in BatchState if state is not BatchState.VALIDATING),
            ),
            total=progress.total if counted else 0,
            completed=progress.done if counted else 0,
            failed=progress.failed + progress.expired if counted else 0,
            output_file=self._if_shown(new.output_file),
            error_file=self._if_shown(new.error_file),
            metadata=new.metadata,
            complaints=row.complaints,
        )

    def results_of(self, row: BatchRow, *, ok: bool) -> FileRow:
        """Give a result file of a batch."""
        return self.files[row.new.output_file if ok else row.new.error_file]

    def let_results_be_seen(self, row: BatchRow) -> None:
        """Finish the result files of a batch that has ended; empty ones go."""
        for file in (row.new.output_file, row.new.error_file):
            if self.files[file].pieces:
                self.files[file].finished = True
            else:
                del self.files[file]

    def oldest(self) -> Iterator[BatchRow]:
        """Give all batches, oldest first."""
        return (self.batches[name] for name in sorted(self.batches))

    def _if_shown(self, file: FileId) -> FileId | None:
        row = self.files.get(file)
        return file if row is not None and row.finished else None


def files_of(batch: NewBatch) -> tuple[FileId, FileId, FileId]:
    """Give the files that a batch needs."""
    return batch.input_file, batch.output_file, batch.error_file


def uploaded(file: NewFile, now: float) -> FileRow:
    """Make the row of a file that a client sends."""
    return FileRow(file, PURPOSE, now)
