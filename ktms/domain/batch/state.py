"""How a batch moves on: one table of states, and one rule that says when the next one is due. Pure.

    validating -> in_progress -> finalizing -> completed
               -> failed                    -> expired (the window ended before all lines had run)
               -> expired
               validating, in_progress -> cancelling -> cancelled

Not here: lines and who runs them (`line.py`, `shares.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class BatchState(StrEnum):
    """States by their names in OpenAI's API."""

    VALIDATING = "validating"
    IN_PROGRESS = "in_progress"
    FINALIZING = "finalizing"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"


NEXT: Mapping[BatchState, frozenset[BatchState]] = {
    BatchState.VALIDATING: frozenset(
        {BatchState.IN_PROGRESS, BatchState.FAILED, BatchState.EXPIRED, BatchState.CANCELLING}
    ),
    BatchState.IN_PROGRESS: frozenset({BatchState.FINALIZING, BatchState.CANCELLING}),
    BatchState.FINALIZING: frozenset({BatchState.COMPLETED, BatchState.EXPIRED}),
    BatchState.CANCELLING: frozenset({BatchState.CANCELLED}),
    BatchState.COMPLETED: frozenset(),
    BatchState.FAILED: frozenset(),
    BatchState.EXPIRED: frozenset(),
    BatchState.CANCELLED: frozenset(),
}
assert set(NEXT) == set(BatchState), "every state has its line"

ENDED = frozenset(state for state, following in NEXT.items() if not following)
"""Nothing changes any more."""

CANCELLABLE = frozenset(state for state, following in NEXT.items() if BatchState.CANCELLING in following)


@dataclass(frozen=True, slots=True)
class Progress:
    """Lines of one batch by their states."""

    waiting: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    expired: int = 0

    @property
    def total(self) -> int:
        """All lines."""
        return self.waiting + self.running + self.done + self.failed + self.expired


def due(state: BatchState, progress: Progress, *, over: bool) -> BatchState | None:
    """Give the state that a batch is due to enter; None: it stays. `over`: its window has ended.

    A batch whose window ended takes no more lines; those that run may finish, those that wait expire first.
    """
    match state:
        case BatchState.VALIDATING if over:
            return BatchState.EXPIRED
        case BatchState.IN_PROGRESS if over or not progress.waiting + progress.running:
            return BatchState.FINALIZING
        case BatchState.FINALIZING if not progress.waiting + progress.running:
            return BatchState.EXPIRED if progress.expired else BatchState.COMPLETED
        case BatchState.CANCELLING if not progress.running:
            return BatchState.CANCELLED
    return None
