"""What is counted of keys and tenants in this process, by the rules of the store in Redis.

One object is what one Redis would hold; each replica of a world sees it through a `MemoryQuotaStore`. Not here:
the arithmetic (`domain/access/quota_counters.py`), what a replica remembers of its own (`quota_store.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ktms.adapters.memory.clock import LoopClock
from ktms.domain.access import quota_counters as arithmetic
from ktms.domain.access.quota import Spent
from ktms.domain.access.quota_counters import NEW, Counters, Part, Share, bounded_micros, roll, share_of, state_of
from ktms.domain.access.quota_refusals import refusal
from ktms.domain.ids import RequestId
from ktms.domain.units import US_PER_S
from ktms.ports.quota_store import (
    RESERVATION_TTL_S,
    TOMBSTONE_S,
    Answer,
    QuotaStoreAway,
    Reserved,
    Unread,
    Wish,
)

_TOMBSTONE_US = round(TOMBSTONE_S * US_PER_S)

Held = Mapping[str, Part]
"""A reservation: its part of each account, by the account's id."""


def _loop_wall() -> float:
    return LoopClock().wall()


@dataclass(slots=True)
class MemoryQuotas:
    """The state itself. `away`, where set, is what every replica is told: the kind of a `QuotaStoreAway`.

    `wall` gives seconds since 1970: that of a `Clock`; by default it follows the running loop.
    """

    wall: Callable[[], float] = _loop_wall
    ttl_s: float = RESERVATION_TTL_S
    away: str | None = None
    _accounts: dict[str, Counters] = field(default_factory=dict)
    _held: dict[str, dict[RequestId, Held]] = field(default_factory=dict)
    _swept: dict[str, tuple[int, dict[RequestId, Held]]] = field(default_factory=dict)
    _beats: dict[str, int] = field(default_factory=dict)
    _next_sweep_us: int = 0

    def check_here(self) -> None:
        """Refuse while `away`.

        Raises:
            QuotaStoreAway: as told.
        """
        if self.away is not None:
            raise QuotaStoreAway(self.away)

    def lose(self) -> None:
        """Forget everything, as a restart without persistence does."""
        for part in (self._accounts, self._held, self._swept, self._beats):
            part.clear()
        self._next_sweep_us = 0

    def counters(self, account: str) -> Counters:
        """Give what is counted of an account now."""
        return roll(self._accounts.get(account, NEW), self._now_us())

    def reserve(self, holder: str, wish: Wish) -> tuple[bool, Answer]:
        """Reserve a wish for a replica; tells too whether the replica was not known to live, as after a loss."""
        now_us = self._now_us()
        self._sweep(now_us)
        new = not self._lives(holder, now_us)
        if new:
            self._beats[holder] = now_us + self._ttl_us
        return new, self._reserve(holder, wish, now_us)

    def _reserve(self, holder: str, wish: Wish, now_us: int) -> Answer:
        micros = bounded_micros(wish.micros)
        before = [roll(self._accounts.get(account.id, NEW), now_us) for account in wish.accounts]
        held = self._held.setdefault(holder, {})
        if wish.id in held:
            return Reserved(tuple(state_of(its, now_us) for its in before))
        unread = [
            account
            for account, its in zip(wish.accounts, before, strict=True)
            if account.limits.dollars and not its.read
        ]
        if unread:
            return Unread(tuple(unread))
        shares = [share_of(account.limits, wish.tokens) for account in wish.accounts]
        limits = [account.limits for account in wish.accounts]
        refused = refusal(list(zip(limits, shares, strict=True)), before, micros, now_us)
        if refused is not None:
            return replace(refused, states=tuple(state_of(its, now_us) for its in before))
        parts: dict[str, Part] = {}
        for account, share, its in zip(wish.accounts, shares, before, strict=True):
            self._accounts[account.id], parts[account.id] = arithmetic.reserve(its, share, micros, now_us)
        held[wish.id] = parts
        return Reserved(tuple(state_of(self._accounts[account.id], now_us) for account in wish.accounts))

    def settle(self, holder: str, wish: Wish, tokens: int, micros: int) -> None:
        """Put what was used in the place of a reservation, or beside one that was given back."""
        now_us = self._now_us()
        held = self._held.get(holder, {}).pop(wish.id, None)
        swept = None if held is not None else self._swept_of(holder, now_us).pop(wish.id, None)
        charged = bounded_micros(micros)
        for account in wish.accounts:
            used, counters = share_of(account.limits, tokens), self._accounts.get(account.id, NEW)
            if held is not None:
                counters = arithmetic.settle(counters, held[account.id], used, charged, now_us)
                if tokens <= 0 and micros <= 0:
                    counters = arithmetic.give_back_request(counters, held[account.id], now_us)
            elif swept is not None:
                counters = arithmetic.charge(counters, swept[account.id], used, charged, now_us)
            else:
                return
            self._accounts[account.id] = counters

    def beat(self, holder: str) -> int:
        """Note that a replica lives; gives how many reservations it has."""
        self._beats[holder] = self._now_us() + self._ttl_us
        return len(self._held.get(holder, ()))

    def declare(self, holder: str, wish: Wish) -> None:
        """Take up a reservation under way that is not here any more."""
        now_us, micros = self._now_us(), bounded_micros(wish.micros)
        if wish.id in self._held.setdefault(holder, {}):
            return
        self._swept_of(holder, now_us).pop(wish.id, None)
        parts: dict[str, Part] = {}
        for account in wish.accounts:
            after, parts[account.id] = arithmetic.take_up(self.counters(account.id), micros, now_us)
            self._accounts[account.id] = after
        self._held[holder][wish.id] = parts

    def raise_spent(self, spent: Sequence[Spent]) -> None:
        """Raise what is settled."""
        now_us = self._now_us()
        for one in spent:
            self._accounts[one.account] = arithmetic.raise_to(self._accounts.get(one.account, NEW), one, now_us)

    def _sweep(self, now_us: int) -> None:
        """Give back what the dead held, and remember it for a while; once a second."""
        if now_us < self._next_sweep_us <= now_us + US_PER_S:
            return
        self._next_sweep_us = now_us + US_PER_S
        for holder, until_us in tuple(self._beats.items()):
            self._beats[holder] = min(until_us, now_us + self._ttl_us)
            if until_us > now_us:
                continue
            held = self._held.pop(holder, {})
            if held:
                self._swept[holder] = (now_us + _TOMBSTONE_US, self._swept_of(holder, now_us) | held)
            elif until_us + _TOMBSTONE_US <= now_us:
                del self._beats[holder]
            for account, part in [one for parts in held.values() for one in parts.items()]:
                counters = self._accounts.get(account, NEW)
                self._accounts[account] = arithmetic.settle(counters, part, Share(), 0, now_us)

    def _lives(self, holder: str, now_us: int) -> bool:
        return self._beats.get(holder, 0) > now_us

    def _swept_of(self, holder: str, now_us: int) -> dict[RequestId, Held]:
        until_us, swept = self._swept.get(holder, (0, {}))
        return swept if until_us > now_us else {}

    @property
    def _ttl_us(self) -> int:
        return round(self.ttl_s * US_PER_S)

    def _now_us(self) -> int:
        return round(self.wall() * US_PER_S)
