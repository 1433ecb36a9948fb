"""What accounts have spent, asked of the ledger by calls that may not begin before it is known.

Rules: whoever asks about the same accounts meanwhile shares the question; an answer is waited for PATIENCE_S at
most; after a failure nobody waits for AWAY_S, then one asks while all others go on without. So a ledger that hangs
(failures: FL3) costs one call in a while its patience, and no more.
Not here: what follows from the answer (`budget.py`), what is made up for later (`quota_upkeep.py`).
"""

import asyncio
from collections.abc import Sequence

from ktms.domain.access.quota import Spent
from ktms.ports.clock import Clock
from ktms.ports.ledger import LedgerAway
from ktms.ports.usage_reports import UsageReports

PATIENCE_S = 3.0
"""One question in all; as long as a key's verification may take, which comes just before (failures: FP3)."""

AWAY_S = 2.0
"""So long a ledger that failed is left alone, as Redis is (failures: FR7)."""


class Spending:
    """Asks."""

    def __init__(self, reports: UsageReports, clock: Clock) -> None:
        self._reports = reports
        self._clock = clock
        self._pending: dict[tuple[str, ...], asyncio.Future[Sequence[Spent] | str]] = {}
        self._retry_at: float | None = None
        self._is_tried = False

    async def of(self, accounts: Sequence[str]) -> Sequence[Spent]:
        """Tell what these have spent.

        Raises:
            LedgerAway: it is not known, or was not just now.
        """
        answer = await self._shared(tuple(accounts))
        if isinstance(answer, str):
            raise LedgerAway(answer)
        return answer

    async def _shared(self, accounts: tuple[str, ...]) -> Sequence[Spent] | str:
        """Ask, or wait for whoever asks; who takes over from somebody that left asks anew."""
        while not self._silenced() and (pending := self._pending.get(accounts)) is not None:
            await asyncio.wait((pending,))
            if not pending.cancelled():
                return pending.result()
        if self._silenced():
            return "silenced"
        future = asyncio.get_running_loop().create_future()
        self._pending[accounts] = future
        try:
            answer = await self._asked(accounts)
            future.set_result(answer)
            return answer
        finally:
            future.cancel()  # only where the question itself was cancelled
            del self._pending[accounts]

    def _silenced(self) -> bool:
        """Whether nobody may wait now: the ledger failed, and one tries it already, or nobody does yet."""
        return self._retry_at is not None and (self._is_tried or self._clock.monotonic() < self._retry_at)

    async def _asked(self, accounts: tuple[str, ...]) -> Sequence[Spent] | str:
        is_trial = self._retry_at is not None
        self._is_tried = self._is_tried or is_trial
        try:
            async with asyncio.timeout(PATIENCE_S):
                spent = await self._reports.spent(accounts)
        except (LedgerAway, TimeoutError) as error:
            self._retry_at = self._clock.monotonic() + AWAY_S
            return error.kind if isinstance(error, LedgerAway) else "timeout"
        finally:
            if is_trial:
                self._is_tried = False
        self._retry_at = None
        return spent
