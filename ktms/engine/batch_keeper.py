"""What keeps batches going besides their lines: examined soon, moved on in time, forgotten when they are old.

Rules: batches move on also while a large file is examined. Not here: running lines (`batch_worker.py`), the rules
of states (`domain/batch/state.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ktms.engine.batch_examiner import Examiner
from ktms.engine.drain import Drain
from ktms.engine.lasting import run_lasting
from ktms.ports.batch_upkeep import BatchUpkeep
from ktms.ports.catalogue import StoreAway
from ktms.ports.entropy import Entropy
from ktms.ports.file_store import FileStore
from ktms.ports.fleet_board import FleetBoard
from ktms.ports.lease_store import LeaseStoreAway
from ktms.ports.telemetry import Dependency, Gauge, Telemetry

T = TypeVar("T")

TEND_EVERY_S = 5.0
"""How late another replica's batch may be noticed; one made here is tended at once."""

COUNT_EVERY_S = 30.0
"""How old the gauge of waiting lines may be; they are counted one by one."""

FORGET_EVERY_S = 300.0
FORGET_DUTY = "forget_batches"


class BatchKeeper:
    """The loops of one replica; `woken` is set when there may be something to do, `wake` tells the worker so."""

    def __init__(
        self,
        upkeep: BatchUpkeep,
        files: FileStore,
        board: FleetBoard,
        *,
        drain: Drain,
        entropy: Entropy,
        telemetry: Telemetry,
        woken: asyncio.Event,
        wake: Callable[[], None],
    ) -> None:
        self._upkeep = upkeep
        self._examiner = Examiner(upkeep, files)
        self._board = board
        self._drain = drain
        self._entropy = entropy
        self._telemetry = telemetry
        self._woken = woken
        self._wake = wake
        self._to_examine = asyncio.Event()

    async def run(self) -> None:
        """Keep batches going until cancelled."""
        loops = {
            "examine-batches": self._examines,
            "tend-batches": self._tends,
            "forget-batches": self._forgets,
            "count-lines": self._counts,
        }
        await run_lasting(loops, self._telemetry)

    async def tend(self) -> None:
        """Examine what waits for it, and move on what is due."""
        await self._examine()
        await self._move_on()

    async def forget(self) -> None:
        """Delete what is old, where no other replica sees to it."""
        try:
            if not await self._board.claim(FORGET_DUTY, 2 * FORGET_EVERY_S):
                return
        except LeaseStoreAway as away:
            self._telemetry.dependency_failed(Dependency.REDIS, FORGET_DUTY, away.kind)
            return
        while await self._told("forget_batches", self._upkeep.forget_old):
            pass

    async def _examine(self) -> None:
        while not self._drain.leaving and await self._told("examine_batch", self._examiner.one):
            self._wake()
            self._woken.set()  # all of its lines may be broken

    async def _move_on(self) -> None:
        for moved in await self._told("move_batches", self._upkeep.move_on) or ():
            self._telemetry.event("info", "batch_moved", batch=moved.batch, state=moved.state.value)
            self._wake()

    async def _examines(self) -> None:
        while True:
            await self._to_examine.wait()
            self._to_examine.clear()
            await self._examine()

    async def _tends(self) -> None:
        while True:
            self._woken.clear()
            self._to_examine.set()
            await self._move_on()
            try:
                async with asyncio.timeout(self._entropy.uniform(TEND_EVERY_S / 2, TEND_EVERY_S)):
                    await self._woken.wait()
            except TimeoutError:
                pass

    async def _forgets(self) -> None:
        while True:
            await asyncio.sleep(self._entropy.uniform(FORGET_EVERY_S / 2, FORGET_EVERY_S))
            await self.forget()

    async def _counts(self) -> None:
        while True:
            waiting = await self._told("count_lines", self._upkeep.waiting)
            if waiting is not None:
                self._telemetry.gauge(Gauge.BATCH_LINES_WAITING, waiting)
            await asyncio.sleep(self._entropy.uniform(COUNT_EVERY_S / 2, COUNT_EVERY_S))

    async def _told(self, operation: str, ask: Callable[[], Awaitable[T]]) -> T | None:
        try:
            return await ask()
        except StoreAway:
            self._telemetry.dependency_failed(Dependency.POSTGRES, operation, "away")
            return None
