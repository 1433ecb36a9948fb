"""What keeps the store's promises about limits: this replica beats, and what was lost is made up for.

Rules: one beat per tick however many calls run; once a minute the spending of every account in use here is raised
to what the ledger knows, which makes up for what ended while the store was away (FR10, FR11). Nothing is ever
lowered, so a ledger that lags behind does no harm.
Not here: reserving and settling (`budget.py`).
"""

import asyncio

from ktms.engine.budget import Budget
from ktms.engine.lasting import run_lasting
from ktms.ports.entropy import Entropy
from ktms.ports.ledger import LedgerAway
from ktms.ports.quota_store import BEAT_EVERY_S, QuotaStore, QuotaStoreAway
from ktms.ports.telemetry import Dependency, Telemetry
from ktms.ports.usage_reports import UsageReports

BEAT_AGAIN_S = 1.0
"""Pause before a beat that failed: a store that is back soon takes this replica for dead."""

RECONCILE_EVERY_S = 60.0
"""How long a dollar that was not counted may stay uncounted once everything answers again."""

ACCOUNTS_AT_ONCE = 500
"""Asked of the ledger in one question."""


class QuotaUpkeep:
    """The loops of one replica that lean on the quota store."""

    def __init__(
        self, quotas: QuotaStore, reports: UsageReports, budget: Budget, entropy: Entropy, telemetry: Telemetry
    ) -> None:
        self._quotas = quotas
        self._reports = reports
        self._budget = budget
        self._entropy = entropy
        self._telemetry = telemetry

    async def run(self) -> None:
        """Beat and reconcile until cancelled."""
        loops = {"quota-beats": self._beats, "quota-reconciles": self._reconciles}
        await run_lasting(loops, self._telemetry)

    async def beat(self) -> bool:
        """Beat once; False: the store was away."""
        try:
            await self._quotas.beat()
        except QuotaStoreAway as away:
            self._telemetry.dependency_failed(Dependency.REDIS, "quota_beat", away.kind)
            return False
        return True

    async def reconcile(self) -> None:
        """Raise the spending of all accounts that were charged here since the last time."""
        names = self._budget.take_spenders()
        for begin in range(0, len(names), ACCOUNTS_AT_ONCE):
            part = names[begin : begin + ACCOUNTS_AT_ONCE]
            try:
                await self._quotas.raise_spent(await self._reports.spent(part))
            except (QuotaStoreAway, LedgerAway) as away:
                of = Dependency.LEDGER if isinstance(away, LedgerAway) else Dependency.REDIS
                self._telemetry.dependency_failed(of, "reconcile", away.kind)
                self._budget.spend_again(names[begin:])
                return

    async def _beats(self) -> None:
        pause_s = 0.0
        while True:
            await asyncio.sleep(pause_s)
            pause_s = BEAT_EVERY_S if await self.beat() else BEAT_AGAIN_S

    async def _reconciles(self) -> None:
        while True:
            await asyncio.sleep(self._entropy.uniform(RECONCILE_EVERY_S / 2, RECONCILE_EVERY_S))
            await self.reconcile()
