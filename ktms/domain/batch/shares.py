"""Who gets the places of a replica: keys in turn, and batches of one key in turn. Pure.

Rules: the key with the fewest lines under way is served first, and of its batches the one with the fewest. A line
that only waits for a machine has no right to its place: it goes where somebody has fewer, so that lines which wait
for hours keep nobody else waiting. Those who have one less take turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ktms.domain.batch.names import BatchId
from ktms.domain.ids import KeyId

TURN_S = 30.0
"""How long a line may wait at its place while somebody has one line less under way."""


@dataclass(frozen=True, slots=True)
class InHand:
    """A line that has a place. `waits_s`: so long it has waited for a machine; None: it is being answered."""

    batch: BatchId
    owner: KeyId
    waits_s: float | None


class _Count:
    """Lines under way, by key and by batch."""

    def __init__(self, in_hand: Sequence[InHand]) -> None:
        self._keys: dict[KeyId, int] = {}
        self._batches: dict[BatchId, int] = {}
        for line in in_hand:
            self.add(line.batch, line.owner)

    def add(self, batch: BatchId, owner: KeyId, lines: int = 1) -> None:
        self._keys[owner] = self._keys.get(owner, 0) + lines
        self._batches[batch] = self._batches.get(batch, 0) + lines

    def of(self, batch: BatchId, owner: KeyId) -> tuple[int, int]:
        return self._keys.get(owner, 0), self._batches.get(batch, 0)


def shares(ready: Mapping[BatchId, KeyId], in_hand: Sequence[InHand], places: int) -> Mapping[BatchId, int]:
    """Give each batch its number of new lines; equal ones in the order given. Batches without any are left out."""
    found: dict[BatchId, int] = {}
    count = _Count(in_hand)
    for _ in range(places if ready else 0):
        least = min(ready, key=lambda batch: count.of(batch, ready[batch]))
        found[least] = found.get(least, 0) + 1
        count.add(least, ready[least])
    return found


def to_give_up(ready: Mapping[BatchId, KeyId], in_hand: Sequence[InHand]) -> Sequence[int]:
    """Say which lines give their places up where all are taken, by their place in `in_hand`.

    Each makes room for a line of whoever has fewest under way. Of equal ones the one that has waited longest goes:
    others of its batch wait beside it for the same.
    """
    given_up: list[int] = []
    count = _Count(in_hand)
    waiting = {at: line.waits_s for at, line in enumerate(in_hand) if line.waits_s is not None}
    while ready and waiting:
        least = min(ready, key=lambda batch: count.of(batch, ready[batch]))
        most = max(waiting, key=lambda at: (count.of(in_hand[at].batch, in_hand[at].owner), waiting[at]))
        line = in_hand[most]
        ahead = _ahead(count, (line.batch, line.owner), (least, ready[least]))
        if ahead < 1 or (ahead < 2 and (given_up or waiting[most] < TURN_S)):
            break
        del waiting[most]
        given_up.append(most)
        count.add(line.batch, line.owner, -1)
        count.add(least, ready[least])
    return given_up


def _ahead(count: _Count, one: tuple[BatchId, KeyId], other: tuple[BatchId, KeyId]) -> int:
    """Say how many lines more one batch has than another: by their keys, or among batches of one key."""
    (one_key, one_batch), (other_key, other_batch) = count.of(*one), count.of(*other)
    return one_batch - other_batch if one[1] == other[1] else one_key - other_key
