"""One replica's view of what is counted (port QuotaStore), and what it owes a store that was away.

Not here: what is counted and how (`quotas.py`).
"""

from collections import deque
from collections.abc import Iterable, Sequence

from ktms.adapters.memory.quotas import MemoryQuotas
from ktms.domain.access.quota import Spent
from ktms.domain.ids import RequestId
from ktms.ports.quota_store import Answer, Reserved, Wish

OWED_MAX = 10_000
"""Settlements kept for a store that is away; the ledger makes up for those beyond."""


class MemoryQuotaStore:
    """Implements `QuotaStore`. `name` tells replicas apart, an earlier life of the same one included."""

    def __init__(self, quotas: MemoryQuotas | None = None, name: str = "gw1") -> None:
        self.quotas = quotas if quotas is not None else MemoryQuotas()
        self._name = name
        self._under_way: dict[RequestId, Wish] = {}
        self._lost = False
        self._used = False
        self._owed: deque[tuple[Wish, int, int]] = deque(maxlen=OWED_MAX)

    async def reserve(self, wish: Wish) -> Answer:
        """Reserve all or nothing."""
        if not wish.accounts:
            return Reserved(())
        self._reach()
        self._used = True
        new, answer = self.quotas.reserve(self._name, wish)
        self._lost = self._lost or new
        if isinstance(answer, Reserved):
            self._under_way[wish.id] = wish
        return answer

    def settle(self, wish: Wish, tokens: int, micros: int) -> None:
        """Put what was used in the place of what was reserved, now or as soon as the store is there."""
        self._under_way.pop(wish.id, None)
        self._owed.append((wish, tokens, micros))
        if self.quotas.away is None:
            self._pay()

    async def beat(self) -> None:
        """Say that this replica lives, if it ever reserved anything, and declare what was lost."""
        if not self._used:
            return
        self._reach()
        if self.quotas.beat(self._name) < len(self._under_way) or self._lost:
            self._declare(self._under_way.values())
            self._lost = False

    async def raise_spent(self, spent: Sequence[Spent]) -> None:
        """Raise what accounts have spent; where what is reserved of them may be lost, it is told before."""
        self._reach()
        accounts = {one.account for one in spent}
        self._declare(
            wish
            for wish in (self._under_way.values() if self._lost else ())
            if any(account.id in accounts for account in wish.accounts)
        )
        self.quotas.raise_spent(spent)

    def _declare(self, wishes: Iterable[Wish]) -> None:
        for wish in wishes:
            self.quotas.declare(self._name, wish)

    def _reach(self) -> None:
        self.quotas.check_here()
        self._pay()

    def _pay(self) -> None:
        while self._owed:
            self.quotas.settle(self._name, *self._owed.popleft())
