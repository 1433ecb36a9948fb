"""Who waits for a slot, over all replicas: depth for the forecast, and the news that a slot came free.

The order of those who wait is kept by each replica for its own; here they are only counted.
"""

from collections.abc import AsyncIterator
from typing import Protocol

from ktms.domain.ids import ModelName, NodeName


class WaitingRoom(Protocol):
    """Counts waiters per model. A replica's are renewed with its leases, so those of a dead one vanish."""

    def join(self, model: ModelName, waiter: str) -> None:
        """Count one more waiter; returns at once. `waiter` is unique among all replicas."""
        ...

    def leave(self, model: ModelName, waiter: str) -> None:
        """Count a waiter off; returns at once, twice is harmless."""
        ...

    def freed(self) -> AsyncIterator[NodeName]:
        """Yield the node of each slot that any replica gave back, from now on; a hint, some may be lost.

        Raises:
            LeaseStoreAway: the news have stopped; iterate again to go on.
        """
        ...
