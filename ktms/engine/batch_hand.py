"""The lines that one replica has in hand, and who is left alone for now.

Not here: who gets the places (`domain/batch/shares.py`), running lines (`batch_worker.py`).
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ktms.domain.batch.line import ClaimedLine, LineRef
from ktms.domain.batch.names import BatchId
from ktms.domain.batch.shares import InHand
from ktms.domain.ids import KeyId
from ktms.engine.call import LineRun
from ktms.ports.line_store import ReadyBatch

SETTLES_S = 1.0
"""A line that was just claimed is still on its way: only after so long it counts as one that waits."""


@dataclass(slots=True, eq=False)
class Held:
    """One line that is ours. `run` is set once it is a call; `ended`: only its result is still to be stored.

    `leaves`: it was called back, and is being given back.
    """

    line: ClaimedLine
    since: float
    renewed_at: float
    task: asyncio.Task[None] | None = None
    run: LineRun | None = None
    ended: bool = False
    leaves: bool = False

    @property
    def asked(self) -> bool:
        """Whether somebody was asked for it, so that it is to be ended here."""
        return self.ended or (self.run is not None and self.run.asked)

    def call_back(self) -> None:
        """End it without a result, which another run will have; once, or its giving back would be cut off."""
        if self.task is not None and not self.ended and not self.leaves:
            self.leaves = True
            self.task.cancel()

    def seen(self, now: float) -> InHand:
        """Give it as those see it who share places out."""
        waits_s = now - self.since
        return InHand(self.line.ref.batch, self.line.owner, None if self.asked or waits_s < SETTLES_S else waits_s)


class Hand:
    """All lines that are ours, by their claims."""

    def __init__(self) -> None:
        self._held: dict[LineRef, Held] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        """Give those of this moment."""
        return iter(tuple(self._held.values()))

    def take(self, line: ClaimedLine, now: float) -> Held:
        """Take a line that was claimed."""
        held = self._held[line.ref] = Held(line, now, now)
        return held

    def drop(self, ref: LineRef) -> None:
        """Let go of a line."""
        del self._held[ref]

    def refs(self) -> tuple[LineRef, ...]:
        """Give the claims."""
        return tuple(self._held)

    def of(self, ref: LineRef) -> Held | None:
        """Give the line of a claim."""
        return self._held.get(ref)

    def of_batch(self, batch: BatchId) -> bool:
        """Whether a line of this batch is among them."""
        return any(ref.batch == batch for ref in self._held)

    def waits(self, now: float) -> bool:
        """Whether one of them only waits for a machine."""
        return any(held.seen(now).waits_s is not None for held in self)


@dataclass(slots=True)
class Turns:
    """When keys and batches last got a place here, monotonic: who had none for longest goes first of equals."""

    keys: dict[KeyId, float] = field(default_factory=dict)
    batches: dict[BatchId, float] = field(default_factory=dict)

    def had(self, batch: BatchId, owner: KeyId, now: float) -> None:
        """Note that a batch got a place."""
        self.keys[owner] = self.batches[batch] = now

    def ordered(self, ready: Mapping[BatchId, KeyId]) -> dict[BatchId, KeyId]:
        """Put batches into the order of their turns, and forget all others."""
        keys, batches = set(ready.values()), set(ready)
        self.keys = {key: at for key, at in self.keys.items() if key in keys}
        self.batches = {batch: at for batch, at in self.batches.items() if batch in batches}
        never = float("-inf")
        return dict(
            sorted(ready.items(), key=lambda one: (self.keys.get(one[1], never), self.batches.get(one[0], never)))
        )


@dataclass(slots=True)
class Rests:
    """Until when keys and batches are left alone, monotonic."""

    keys: dict[KeyId, float] = field(default_factory=dict)
    batches: dict[BatchId, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anybody is left alone."""
        return bool(self.keys or self.batches)

    def over(self, now: float) -> None:
        """Forget those that have ended."""
        self.keys = {key: until for key, until in self.keys.items() if until > now}
        self.batches = {batch: until for batch, until in self.batches.items() if until > now}

    def awake(self, found: Iterable[ReadyBatch]) -> dict[BatchId, KeyId]:
        """Give those that are not left alone, in their order, each with its owner."""
        return {
            batch.id: batch.owner
            for batch in found
            if batch.owner not in self.keys and batch.id not in self.batches
        }
