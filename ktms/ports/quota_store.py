"""What keys and tenants may still use, counted so that every replica sees it.

A reservation lives as long as its replica beats (BEAT_EVERY_S); one whose replica is dead is given back within
RESERVATION_TTL_S, by the next who reserves anything. Should that replica have been frozen only, what it settles
late is still charged, once, for TOMBSTONE_S. Times are the store's own; day and month are UTC. Amounts are whole
micro-dollars and tokens; a single call counts TOKENS_MAX and MICROS_MAX at most (domain/access/quota_counters.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.access.quota import Account, AccountState, Refusal, Spent
from ktms.domain.ids import RequestId

BEAT_EVERY_S = 5.0
"""With the leases' tick: one word per replica, however many calls run."""

RESERVATION_TTL_S = 15.0
"""What a dead replica had reserved is free again after this (FG3)."""

TOMBSTONE_S = 660.0
"""No call lasts longer, so nobody settles later than this what was given back."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What one call wants of all its accounts together: all of them or none. `id` names the reservation."""

    id: RequestId
    accounts: tuple[Account, ...]
    tokens: int
    micros: int


@dataclass(frozen=True, slots=True)
class Reserved:
    """The call may go on; `states` are its accounts after the reservation, in the order of the wish."""

    states: tuple[AccountState, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """The store does not know what these accounts have spent (it was empty): raise them first (FR11).

    Nothing was reserved.
    """

    accounts: tuple[Account, ...]


Answer = Reserved | Refusal | Unread


class QuotaStoreAway(Exception):
    """The store cannot be asked; `kind` is one word for the metric: away, timeout, silenced, error."""

    def __init__(self, kind: str = "away") -> None:
        super().__init__(f"limits cannot be counted: {kind}")
        self.kind = kind


class QuotaStore(Protocol):
    """Counts. All accounts of a wish are reserved in one step, or none; what is refused costs nothing."""

    async def reserve(self, wish: Wish) -> Answer:
        """Reserve in one round trip; repeated under the same id it is one reservation. Without accounts: nothing.

        One that was cancelled or not answered leaves nothing behind, as soon as the store learns of it.

        Raises:
            QuotaStoreAway: the store did not answer.
        """
        ...

    def settle(self, wish: Wish, tokens: int, micros: int) -> None:
        """Put what was used in the place of what was reserved; returns at once, twice is harmless.

        Nothing used gives all back, the request too. A store that is away is told when it is back, for as long
        as that is of use; the ledger makes up for the rest (`raise_spent`).
        """
        ...

    async def beat(self) -> None:
        """Say that this replica lives; a store that has lost its memory is told of the reservations under way.

        A replica that never reserved anything does not ask the store.

        Raises:
            QuotaStoreAway: the store did not answer.
        """
        ...

    async def raise_spent(self, spent: Sequence[Spent]) -> None:
        """Raise what accounts have spent to at least this; never lowers anything, safe to repeat.

        Raises:
            QuotaStoreAway: the store did not answer.
        """
        ...
