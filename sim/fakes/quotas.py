"""What one replica does with the counters of keys and tenants, every step of it written into the journal.

Implements the port QuotaStore around the one that does the work. A fact is what the replica knows: a reservation
it was told of, a settlement it asked for, a store that told it nothing. Not here: what is counted and how
(`ktms.adapters`), how a store fails where there are no bytes (`quota_line.py`), what the store says
(`sim/store_looks.py`).
"""

import asyncio
from collections.abc import Sequence

from ktms.domain.access.quota import Refusal, Spent
from ktms.ports.quota_store import Answer, QuotaStore, QuotaStoreAway, Reserved, Wish
from sim.journal.journal import Journal
from sim.trace import Trace


class JournalQuotas:
    """Implements the port for one replica."""

    def __init__(self, host: str, journal: Journal, trace: Trace, quotas: QuotaStore) -> None:
        self._host = host
        self._journal = journal
        self._trace = trace
        self._quotas = quotas

    async def reserve(self, wish: Wish) -> Answer:
        """Reserve all or nothing."""
        asked_at = self._now
        try:
            answer = await self._quotas.reserve(wish)
        except QuotaStoreAway as away:
            self._unknown("reserve", away.kind, wish)
            raise
        except asyncio.CancelledError:
            self._unknown("reserve", "cancelled", wish)
            raise
        members = {**_named(wish), "waited_s": self._now - asked_at}
        match answer:
            case Reserved():
                self._note("quota_reserved", **members)
            case Refusal(account, limit, wait_ms):
                whose = wish.accounts[account].id
                self._note("quota_refused", **members, account=whose, limit=limit.value, wait_ms=wait_ms)
            case _:
                self._note("quota_unread", **members)
        self._reply("reserve", f"{wish.id} {type(answer).__name__}")
        return answer

    def settle(self, wish: Wish, tokens: int, micros: int) -> None:
        """Put what was used in the place of what was reserved."""
        if tokens or micros:
            self._note("quota_settled", call=wish.id, tokens=tokens, micros=micros)
        else:
            self._note("quota_given_back", call=wish.id)
        self._quotas.settle(wish, tokens, micros)
        self._reply("settle", f"{wish.id} {tokens} {micros}")

    async def beat(self) -> None:
        """Say that this replica lives; often, so only the trace has it."""
        try:
            await self._quotas.beat()
        except QuotaStoreAway as away:
            self._unknown("beat", away.kind)
            raise
        self._reply("beat", "")

    async def raise_spent(self, spent: Sequence[Spent]) -> None:
        """Raise what accounts have spent; noted first, since it may take effect unheard."""
        for one in spent:
            self._note(
                "quota_raised", account=one.account, day_micros=one.day_micros, month_micros=one.month_micros
            )
        try:
            await self._quotas.raise_spent(spent)
        except QuotaStoreAway as away:
            self._unknown("raise_spent", away.kind)
            raise
        self._reply("raise_spent", f"{len(spent)}")

    @property
    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _unknown(self, operation: str, failure: str, wish: Wish | None = None) -> None:
        named = {} if wish is None else _named(wish)
        self._note("quota_unknown", operation=operation, failure=failure, **named)
        self._reply(operation, f"unknown: {failure}")

    def _note(self, kind: str, **members: str | float | None) -> None:
        self._journal.note(kind, self._host, **members)

    def _reply(self, method: str, text: str) -> None:
        self._trace.replied(self._now, f"{self._host}/quotas", method, text)


def _named(wish: Wish) -> dict[str, str | float | None]:
    accounts = " ".join(account.id for account in wish.accounts)
    return {"call": wish.id, "accounts": accounts, "tokens": wish.tokens, "micros": wish.micros}
