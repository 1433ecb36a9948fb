"""What the ledger can tell."""

from collections.abc import Sequence
from typing import Protocol

from ktms.domain.access.quota import Spent
from ktms.domain.access.usage_report import UsageQuery, UsageRow


class UsageReports(Protocol):
    """Sums over usage events; both raise LedgerAway (ports/ledger.py) when the ledger does not answer."""

    async def usage(self, query: UsageQuery) -> Sequence[UsageRow]:
        """Give one row per group of the query, sorted by its dimensions.

        Raises:
            UsageTooFine: more rows than ROWS_MAX.
        """
        ...

    async def spent(self, accounts: Sequence[str]) -> Sequence[Spent]:
        """Give what each account (`key:<id>`, `tenant:<name>`) has spent today and this month (UTC).

        An account without events has spent nothing: it is in the answer too.
        """
        ...
