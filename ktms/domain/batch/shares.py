"""Who gets the free places of a replica: batches in turn, the one with the fewest lines under way first. Pure."""

from collections.abc import Mapping, Sequence

from ktms.domain.batch.names import BatchId


def shares(ready: Sequence[BatchId], running: Mapping[BatchId, int], places: int) -> Mapping[BatchId, int]:
    """Give each batch its number of new lines; equal ones in the order given. Batches without any are left out.

    `running` are the lines that each batch has under way here.
    """
    found: dict[BatchId, int] = {}
    for _ in range(places if ready else 0):
        least = min(ready, key=lambda batch: running.get(batch, 0) + found.get(batch, 0))
        found[least] = found.get(least, 0) + 1
    return found
