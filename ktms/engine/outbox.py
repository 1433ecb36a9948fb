"""The gateway's side of accounting: takes usage events at once, hands them to the ledger beside the calls.

Rules: recording never waits and never raises; one batch is under way at a time, in the order of recording; it is
sent again until the ledger has it, which removes repeats by their ids; one send lasts SEND_TIMEOUT_S at most; an
outage costs nothing but room in the spool (failures: FL1 to FL4).
Not here: where events wait (ports/spool.py), what an event says (settle.py), a ledger that refuses (sieve.py).
"""

import asyncio
from collections.abc import Sequence

from ktms.domain.access.usage_event import UsageEvent
from ktms.engine.sieve import REFUSED, Sieve
from ktms.ports.entropy import Entropy
from ktms.ports.ledger import Ledger, LedgerAway
from ktms.ports.spool import Spool
from ktms.ports.telemetry import Count, Dependency, Gauge, Telemetry

BATCH_MAX = 500
"""Events per send: a message of some 150 kB, and one transaction of a few milliseconds."""

LINGER_S = 0.2
"""How long the first event of a batch waits for company."""

SEND_TIMEOUT_S = 5.0
"""One send in all (failures: FL3)."""

PAUSE_FIRST_S = 0.2
PAUSE_MAX_S = 5.0
"""Between sends that failed; it doubles from the first to the longest, less up to a half by chance."""

FLUSH_PAUSE_S = 0.1
"""A shutdown has two seconds for its books: it asks again sooner."""


class Outbox:
    """Takes usage events; `run` sends them on until it is cancelled, `flush` at the end sends what is left."""

    def __init__(self, ledger: Ledger, spool: Spool, entropy: Entropy, telemetry: Telemetry) -> None:
        self._ledger = ledger
        self._spool = spool
        self._entropy = entropy
        self._telemetry = telemetry
        self._some = asyncio.Event()
        self._many = asyncio.Event()
        self._turn = asyncio.Lock()
        self._lost_told = 0
        self._sieve = Sieve(self._failure_of, spool, telemetry)

    @property
    def depth(self) -> int:
        """Events that the ledger does not have yet."""
        return self._spool.depth

    def record(self, event: UsageEvent) -> None:
        """Take one event."""
        spool = self._spool
        spool.put(event)
        if spool.lost_total != self._lost_told:
            self._tell_lost()
        self._some.set()
        if spool.depth >= BATCH_MAX:
            self._many.set()

    async def run(self) -> None:
        """Send what waits, batch by batch, until cancelled."""
        pause_s = PAUSE_FIRST_S
        while True:
            await self._gathered()
            if await self._send():
                pause_s = PAUSE_FIRST_S
            else:
                await asyncio.sleep(self._entropy.uniform(pause_s / 2, pause_s))
                pause_s = min(2 * pause_s, PAUSE_MAX_S)

    async def flush(self) -> None:
        """Send all that waits; ends when nothing does, so the caller bounds it (failures: FL7)."""
        while self._spool.depth:
            if not await self._send():
                await asyncio.sleep(FLUSH_PAUSE_S)

    def close(self) -> None:
        """Let go of the spool; what is lost with the process is counted."""
        self._spool.close()
        self._tell_lost()

    async def _gathered(self) -> None:
        """Wait for a first event, and then for a full batch or LINGER_S."""
        if not self._spool.depth:
            self._some.clear()
            await self._some.wait()
        if self._spool.depth < BATCH_MAX:
            self._many.clear()
            try:
                async with asyncio.timeout(LINGER_S):
                    await self._many.wait()
            except TimeoutError:
                return

    async def _send(self) -> bool:
        """Send one batch; False when the ledger did not take it."""
        async with self._turn:
            events = self._spool.oldest(BATCH_MAX)
            failure = None
            if events:
                failure = await self._failure_of(events)
                if failure is None:
                    self._spool.forget(len(events))
                elif failure == REFUSED:
                    failure = await self._sieve.sift(events)
            self._tell(failure)
            return failure is None

    async def _failure_of(self, events: Sequence[UsageEvent]) -> str | None:
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self._ledger.send(events)
        except LedgerAway as away:
            return away.kind
        except TimeoutError:
            return "timeout"
        return None

    def _tell(self, failure: str | None) -> None:
        telemetry = self._telemetry
        if failure is not None:
            telemetry.dependency_failed(Dependency.LEDGER, "send", failure)
        telemetry.gauge(Gauge.DEPENDENCY_UP, int(failure is None), Dependency.LEDGER.value)
        telemetry.gauge(Gauge.USAGE_WAITING, self._spool.depth)
        self._tell_lost()

    def _tell_lost(self) -> None:
        lost = self._spool.lost_total - self._lost_told
        if lost:
            self._lost_told += lost
            self._telemetry.counted(Count.USAGE_DROPPED, lost)
