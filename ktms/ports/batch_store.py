"""Batches as their owners see them."""

from collections.abc import Sequence
from typing import Protocol

from ktms.domain.access.actor import Actor
from ktms.domain.batch.batch import Batch, NewBatch
from ktms.domain.batch.names import BatchId
from ktms.domain.ids import KeyId


class OtherBatch(Exception):
    """The client's word was used for another batch."""


class TooManyBatches(Exception):
    """Its owner has as many as may be that have not ended."""


class BatchStore(Protocol):
    """Makes, finds and cancels batches. All raise StoreAway (ports/catalogue.py) when it does not answer."""

    async def create(self, batch: NewBatch) -> Batch | None:
        """Store a batch, to be examined; None when its owner has sent no such file.

        A repeat, by its name or by the client's word for it, makes no other: it gives the batch that there is.

        Raises:
            OtherBatch, TooManyBatches, FilesFull (ports/file_store.py): as told; nothing was stored.
        """
        ...

    async def find(self, batch: BatchId, owner: KeyId | None) -> Batch | None:
        """Give a batch with its counts of now; None when there is none, or another key's.

        Without an owner an operator asks, who sees all.
        """
        ...

    async def list(self, owner: KeyId | None, limit: int, after: BatchId | None) -> Sequence[Batch]:
        """Give batches, newest first, those behind `after`; counts are of now."""
        ...

    async def cancel(self, batch: BatchId, by: KeyId | Actor) -> Batch | None:
        """Cancel a batch that may be: no line of it begins from now on. Gives it as it then is; None as `find`.

        A key cancels its own, an operator any; what an operator cancels is audited.

        One that cannot be cancelled any more stays as it is.
        """
        ...
