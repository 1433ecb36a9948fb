"""Lines of batches, handed out to the replicas: one at a time has a line, and its result is stored once.

A claim lives LEASE_S by the store's own clock and is renewed; a replica that dies gives its lines back by that.
Each claim has a number of its own, so what an older one brings is not taken.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ktms.domain.batch.line import ClaimedLine, LineRef
from ktms.domain.batch.names import BatchId
from ktms.domain.ids import KeyId

LEASE_S = 60.0
"""A killed replica's lines are run by others after this; nobody sits before a batch."""

RENEW_EVERY_S = 10.0
"""Several renewals may be lost before a claim ends."""

READY_MAX = 200
"""Batches served in turn at once; those behind come when one of these has ended or rests."""


@dataclass(frozen=True, slots=True)
class ReadyBatch:
    """A batch with a line that could be run now."""

    id: BatchId
    owner: KeyId


class LineEnd(StrEnum):
    """How a line ended."""

    DONE = "done"  # answered
    FAILED = "failed"
    EXPIRED = "expired"  # its window was over before anybody ran it


@dataclass(frozen=True, slots=True)
class LineResult:
    """What one line came to: a line of the output file where it was answered, else of the error file."""

    end: LineEnd
    text: bytes


class LineStore(Protocol):
    """Hands lines out. All raise StoreAway (ports/catalogue.py) when the store does not answer."""

    async def ready(self) -> Sequence[ReadyBatch]:
        """Give batches with lines to be run, READY_MAX at most: the oldest of each owner, then the next of each.

        So an owner of many batches keeps nobody else's out.
        """
        ...

    async def claim(self, batch: BatchId, most: int) -> Sequence[ClaimedLine]:
        """Claim lines in their order, `most` at most, of a batch that is in progress.

        Those of a batch whose window is over are handed out too, to be ended: their `left_s` is not above 0.
        """
        ...

    async def renew(self, lines: Collection[LineRef]) -> Mapping[LineRef, bool]:
        """Renew claims; gives those that hold, each with whether its batch still wants lines to begin."""
        ...

    async def finish(self, line: LineRef, result: LineResult) -> bool:
        """Store the result of a line; False when the claim does not hold any more, and nothing was stored.

        Repeated it is stored once.
        """
        ...

    async def give_back(self, line: LineRef, pause_s: float, *, failed: bool) -> None:
        """Let a line be run again after a pause; `failed`: its targets were asked. Harmless without the claim."""
        ...
