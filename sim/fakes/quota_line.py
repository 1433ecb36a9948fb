"""The way from each replica to what is counted of keys and tenants where there are no bytes.

Rules: a reservation that nobody was told of is given back, as soon as the store is asked again. Not here: how the
store fails (`shared_store.py`), the rules of counting (`ktms.adapters.memory`), facts (`quotas.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.domain.access.quota import Spent
from ktms.ports.lease_store import LeaseStoreAway
from ktms.ports.quota_store import Answer, QuotaStoreAway, Reserved, Wish
from sim.fakes.shared_store import SharedStore

T = TypeVar("T")


class QuotaLine:
    """One process's way to the counters of a `SharedStore`; implements the port QuotaStore."""

    def __init__(self, shared: SharedStore, name: str) -> None:
        self._shared = shared
        self._name = name
        self._way = shared.way_of(name)
        self._used = False
        self._store = MemoryQuotaStore(shared.quotas, name)

    async def reserve(self, wish: Wish) -> Answer:
        """Reserve all or nothing."""
        if not wish.accounts:
            return Reserved(())
        self._used = True
        try:
            return await self._ask(
                lambda: self._store.reserve(wish), lambda: self._shared.quotas.reserve(self._name, wish)
            )
        except (QuotaStoreAway, asyncio.CancelledError) as error:
            if not isinstance(error, QuotaStoreAway) or error.kind == "timeout":
                self.settle(wish, 0, 0)
            raise

    def settle(self, wish: Wish, tokens: int, micros: int) -> None:
        """Settle, as soon as the store is asked again."""
        self._way.tell(lambda: self._store.settle(wish, tokens, micros))

    async def beat(self) -> None:
        """Say that this replica lives; who never reserved anything asks nobody."""
        if self._used:
            await self._ask(self._store.beat)

    async def raise_spent(self, spent: Sequence[Spent]) -> None:
        """Raise what accounts have spent."""
        await self._ask(lambda: self._store.raise_spent(spent))

    async def _ask(self, carry_out: Callable[[], Awaitable[T]], effect: Callable[[], object] | None = None) -> T:
        try:
            return await self._way.ask(carry_out, effect)
        except LeaseStoreAway as away:
            raise QuotaStoreAway(away.kind) from away
