"""Batches that may have been stored although nobody was told so: withdrawn, or they would be run and made again.

A commit whose answer is lost has taken place or not, and a client that got no answer asks once more. One that gave
its batch a word finds it by that; any other batch is cancelled as soon as it turns up, mostly before it has begun.
Not here: making batches (`batch_shelf.py`).
"""

import asyncio
from dataclasses import dataclass

from ktms.domain.batch.batch import NewBatch
from ktms.domain.batch.names import BatchId
from ktms.domain.ids import KeyId
from ktms.ports.batch_store import BatchStore
from ktms.ports.catalogue import StoreAway
from ktms.ports.telemetry import Dependency, Telemetry

DOUBT_S = 60.0
"""How long a batch is looked for that is not there: a commit that hangs ends or is lost by then."""

WITHDRAW_EVERY_S = 1.0
"""Sooner than a replica looks for batches to examine."""

IN_DOUBT_MAX = 1_000
"""Batches looked for; where more are asked for during one outage the oldest are left alone."""


@dataclass(frozen=True, slots=True)
class _Doubt:
    """Whose batch may be there, and until when it is looked for."""

    owner: KeyId
    until: float


class Doubts:
    """Looks for them until it is cancelled."""

    def __init__(self, batches: BatchStore, telemetry: Telemetry) -> None:
        self._batches = batches
        self._telemetry = telemetry
        self._open: dict[BatchId, _Doubt] = {}
        self._raised = asyncio.Event()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._open)

    def of(self, batch: NewBatch) -> None:
        """Note a batch of which its client is not told."""
        if batch.once is not None:
            return
        if len(self._open) >= IN_DOUBT_MAX:
            del self._open[next(iter(self._open))]
        self._open[batch.id] = _Doubt(batch.owner, asyncio.get_running_loop().time() + DOUBT_S)
        self._raised.set()

    async def run(self) -> None:
        """Withdraw them until cancelled."""
        while True:
            await self._raised.wait()
            self._raised.clear()
            while self._open:
                await self._withdraw()
                await asyncio.sleep(WITHDRAW_EVERY_S)

    async def _withdraw(self) -> None:
        """Cancel what has turned up; what has not may still do so."""
        now = asyncio.get_running_loop().time()
        for batch, doubt in tuple(self._open.items()):
            try:
                found = await self._batches.cancel(batch, doubt.owner)
            except StoreAway:
                self._telemetry.dependency_failed(Dependency.POSTGRES, "withdraw_batch", "away")
                return
            if found is not None or doubt.until <= now:
                self._open.pop(batch, None)
