"""What batches need besides their lines being run: examined, moved on, and forgotten in the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.batch.batch import FileComplaint
from ktms.domain.batch.names import BatchId, FileId
from ktms.domain.batch.state import BatchState
from ktms.domain.call import Route

ADDED_AT_ONCE = 500
"""Lines per round trip."""

MOVED_AT_ONCE = 50
"""Batches looked at in one round."""

FORGOTTEN_AT_ONCE = 20
"""Files deleted in one transaction; one may have thousands of pieces."""

UNFINISHED_MAX_S = 24 * 3600.0
"""An upload that has not ended by then never will: 200 MB at the least rate we take last 7 hours."""


@dataclass(frozen=True, slots=True)
class Examination:
    """A batch whose file is ours to examine; `claim` as that of a line."""

    batch: BatchId
    claim: int
    input_file: FileId
    route: Route


@dataclass(frozen=True, slots=True)
class NewLine:
    """A line that was found. `error`: it is broken, and this stands for it in the error file."""

    number: int
    start: int
    size_bytes: int
    error: bytes | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """A batch that has entered a state."""

    batch: BatchId
    state: BatchState


class BatchUpkeep(Protocol):
    """Keeps batches going. All raise StoreAway (ports/catalogue.py) when the store does not answer."""

    async def examine(self) -> Examination | None:
        """Claim a batch to be examined, for the time of a lease; lines found by an earlier claim are dropped.

        Owners take turns: it is the oldest of whoever was not examined for longest, so that an owner of many
        batches keeps nobody else's waiting.
        """
        ...

    async def add_lines(self, examination: Examination, lines: Sequence[NewLine]) -> bool:
        """Store lines that were found, ADDED_AT_ONCE at most, and renew the claim; False: it does not hold."""
        ...

    async def examined(self, examination: Examination, complaints: Sequence[FileComplaint]) -> None:
        """End an examination: the batch is in progress, or failed where there are complaints."""
        ...

    async def move_on(self) -> Sequence[Moved]:
        """Take lines back from the dead, and move each batch that is due (domain/batch/state.py)."""
        ...

    async def waiting(self) -> int:
        """Count the lines that wait, of all batches."""
        ...

    async def forget_old(self) -> int:
        """Delete some of the files and batches whose time is over; gives how many, 0 when nothing is left."""
        ...
