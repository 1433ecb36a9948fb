"""What became of each reservation, and how much must or may be counted of an account at a moment; I3 judges by it.

Rules: a reservation counts from being made to being settled, what was used counts from then on; one of a process
that died counts until somebody reserves after `reservation_ttl_s`. What a store in trouble was told, and what it
has lost, need not count until the ledger has made up for it. Facts of reservations come a moment after the store's
own, those of settlements a moment before. Amounts are micro-dollars of one UTC day.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sim.checkers.held import STORE_FAULTS
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span, any_overlaps, joined
from sim.journal.watch import Watch

HEARD_S = 0.3
"""Within this the store has heard of a settlement, unless its sender stood still."""

TOLD_S = 1.5
"""A settlement that found the store well for so long has been carried out."""

BACK_S = 7.0
"""A beat after a loss, and the second in which it is repeated: what is under way is counted again by then."""

FROZEN_S = 8.0
"""Who stood still for longer may have missed its beats; so may everybody, where the store was away for longer."""

UNCLEAR_S = 40.0
"""After a fault of the store all that was asked of it has had its effect, or been given back, by then."""

DAY_S = 86_400.0

PICOS_PER_MICRO = 1_000_000


@dataclass(slots=True)
class Reservation:
    """One reservation. `over_at`: its replica settled it; `dead_at`: its process had died before.

    `unheard`: nobody knows whether the store made it.
    """

    fact: Fact
    call: str
    host: str
    accounts: tuple[str, ...]
    tokens: float
    micros: float
    asked_at: float
    unheard: bool = False
    over_at: float = math.inf
    used_tokens: float = 0.0
    used_micros: float = 0.0
    given_back: bool = False
    dead_at: float = math.inf
    gone_at: float = math.inf  # it surely counts no more after this, no fault of the store being near

    @property
    def at(self) -> float:
        """When its replica knew."""
        return self.fact.at


@dataclass(slots=True)
class Used:
    """What the attempts of one call cost, by what was booked."""

    key: str = ""
    at: float = math.inf
    kept_at: float = math.inf
    picos: dict[str, float] = field(default_factory=dict)
    uncounted: bool = False

    @property
    def micros(self) -> float:
        """What a budget is charged: rounded up once for the call."""
        return math.ceil(sum(self.picos.values()) / PICOS_PER_MICRO)


class Reserved:
    """All reservations of a run, by account."""

    def __init__(self, watch: Watch, journal: Journal) -> None:
        self._watch = watch
        self.shared = watch.text("leases_shared") in ("True", "true", "1")
        self.ttl_s = watch.number("reservation_ttl_s", math.inf)
        self._begins_at = watch.number("begins_at_unix_s", 0.0)
        self._faults = [span for kind in STORE_FAULTS for span in watch.fault_spans(kind)]
        self._outages = [
            Span(span.start + FROZEN_S, span.end)
            for span in joined(self._faults, BACK_S)
            if span.end - span.start > FROZEN_S
        ]
        self._failovers = watch.fault_spans("redis_failover")
        self._emptied = [at for at, on in watch.faults.get("redis_empty", ()) if on]
        self._taken_over = [at for at, on in watch.faults.get("redis_failover", ()) if not on]
        self._by_account: dict[str, list[Reservation]] = defaultdict(list)
        self.by_call: dict[str, list[Reservation]] = defaultdict(list)
        self.used: dict[str, Used] = defaultdict(Used)
        self._raised: dict[str, list[float]] = defaultdict(list)
        self._asked_at = sorted(
            fact.at - fact.number("waited_s") for fact in journal.of("quota_reserved", "quota_refused")
        )
        self._read(journal)
        for found in self.by_call.values():
            for reservation in found:
                reservation.gone_at = self._gone_at(reservation)

    def of(self, account: str) -> list[Reservation]:
        """Give the reservations of an account, in the order in which they were known."""
        return self._by_account[account]

    def troubled(self, since: float, until: float) -> bool:
        """Whether the store could not be asked as usual, or forgot everything, in this time."""
        return any(since <= at <= until for at in self._emptied) or any_overlaps(self._faults, since, until)

    def unclear(self, at: float) -> bool:
        """Whether something that was asked of a store in trouble may still have its effect."""
        return self.troubled(at - UNCLEAR_S, at)

    def day(self, at: float) -> int:
        """Number the UTC day of a moment."""
        return int((self._begins_at + at) // DAY_S)

    def must_micros(self, account: str, at: float, but: Reservation | None = None) -> float:
        """Give what surely counts at a moment."""
        day = self.day(at)
        return sum(
            self._must(one, at) for one in self._by_account[account] if one is not but and self.day(one.at) == day
        )

    def may_micros(self, account: str, since: float, until: float, used: Callable[[Used], bool]) -> float:
        """Give what counts at most in a time, no fault of the store being near; `used` says who is charged."""
        reserved = sum(one.micros for one in self._by_account[account] if _near(one, since, until))
        spent = 0.0
        for call, its in self.used.items():
            if its.at <= until and used(its):
                spent += its.micros * (2 if self._may_be_doubled(account, call, its) else 1)
        return reserved + spent

    def running(self, account: str, since: float, until: float, but: Reservation | None = None) -> tuple[int, int]:
        """Give how many calls surely run at both ends of a time, and how many may run in it."""
        near = [one for one in self._by_account[account] if one is not but and _near(one, since, until)]
        must = sum(self._must_run(one, since) and self._must_run(one, until) for one in near)
        return must, len(near)

    def lost(self, one: Reservation, at: float) -> bool:
        """Whether the store may not have known it at some moment from its making on."""
        until = min(one.over_at, at)
        return (
            any(one.asked_at <= lost_at <= at for lost_at in self._emptied)
            or any_overlaps(self._failovers, one.asked_at, until)
            or self.taken_for_dead(one, until)
        )

    def taken_for_dead(self, one: Reservation, at: float) -> bool:
        """Whether the store may have given back what its replica had: that stood still, or could not reach it."""
        still = self._watch.host(one.host).stood_still_s(one.asked_at, at) > FROZEN_S
        return still or any_overlaps(self._outages, one.asked_at, at)

    def _must(self, one: Reservation, at: float) -> float:
        if one.unheard or one.at >= at or one.dead_at <= at:
            return 0.0
        if one.over_at > at:
            return one.micros if self._must_run(one, at) else 0.0
        if not self._is_charged(one, at):
            return 0.0
        return min(one.micros, one.used_micros) if at - one.over_at < HEARD_S else one.used_micros

    def _must_run(self, one: Reservation, at: float) -> bool:
        if one.unheard or not one.at < at < min(one.over_at, one.dead_at):  # of one moment either may be first
            return False
        lost_at = self._last_lost_at(one, at)
        return lost_at == -math.inf or (
            lost_at + BACK_S < at and not any_overlaps(self._faults, math.nextafter(lost_at, math.inf), at)
        )

    def _last_lost_at(self, one: Reservation, at: float) -> float:
        """Give from when on it had to be declared again, if the store may have lost it."""
        forgot = (*self._emptied, *self._taken_over)
        moments = [lost_at for lost_at in forgot if one.asked_at <= lost_at <= at]
        if self.taken_for_dead(one, at):
            frozen = self._watch.host(one.host).frozen
            moments += [span.end for span in (*frozen, *self._outages) if span.overlaps(one.asked_at, at)]
        return max(moments, default=-math.inf)

    def _is_charged(self, one: Reservation, at: float) -> bool:
        """Whether what a call used surely counts: the store heard of it, and has not lost it since."""
        host = self._watch.host(one.host)
        told_by = one.over_at + TOLD_S
        if self.troubled(one.over_at - BACK_S, told_by) or host.stood_still_s(one.over_at - HEARD_S, told_by) > 0:
            return False
        if host.crashed(one.over_at, told_by) or any_overlaps(self._failovers, one.asked_at, told_by):
            return False
        return not any(one.asked_at <= lost_at <= at for lost_at in self._emptied)

    def _may_be_doubled(self, account: str, call: str, its: Used) -> bool:
        """Whether the ledger's sum was taken over between an attempt's booking and the settlement of its call."""
        until = max((self._told_by(one) for one in self.by_call.get(call, ())), default=-math.inf)
        return any(its.at <= at <= until for at in self._raised.get(account, ()))

    def _told_by(self, one: Reservation) -> float:
        """Give when the store had surely heard of a settlement: one that was in trouble hears of it late."""
        late = one.over_at < math.inf and self.troubled(one.over_at - BACK_S, one.gone_at)
        return one.over_at + UNCLEAR_S if late else one.gone_at

    def _gone_at(self, one: Reservation) -> float:
        host = self._watch.host(one.host)
        if one.dead_at < math.inf:
            due_at = one.dead_at + self.ttl_s + 2.0
            return next((asked_at for asked_at in self._asked_at if asked_at >= due_at), math.inf)
        over_at = one.over_at
        if over_at == math.inf:
            return math.inf
        heard_at = max(over_at, host.thawed_at(over_at)) + HEARD_S
        if host.crashed(over_at, heard_at):
            due_at = heard_at + self.ttl_s + 2.0
            return next((asked_at for asked_at in self._asked_at if asked_at >= due_at), math.inf)
        return heard_at

    def _read(self, journal: Journal) -> None:
        readers: dict[str, Callable[[Fact], None]] = {
            "quota_reserved": self._read_reserved,
            "quota_unknown": self._read_unknown,
            "quota_settled": self._read_settled,
            "quota_given_back": self._read_settled,
            "quota_raised": lambda fact: self._raised[fact.text("account")].append(fact.at),
            "host_crashed": self._read_end,
            "host_stopped": self._read_end,
            "usage": self._read_usage,
        }
        for fact in journal.of(*readers):
            readers[fact.kind](fact)

    def _read_reserved(self, fact: Fact) -> None:
        if any(one.over_at == math.inf and not one.unheard for one in self.by_call[fact.text("call")]):
            return  # asked once more under the same id
        self._add(Reservation(*_named(fact), asked_at=fact.at - fact.number("waited_s")))

    def _read_unknown(self, fact: Fact) -> None:
        if fact.members["operation"] == "reserve":
            self._add(Reservation(*_named(fact), asked_at=fact.at - 1.0, unheard=True, over_at=fact.at))

    def _add(self, one: Reservation) -> None:
        self.by_call[one.call].append(one)
        for account in one.accounts:
            self._by_account[account].append(one)

    def _read_settled(self, fact: Fact) -> None:
        for one in self.by_call.get(fact.text("call"), ()):
            if one.over_at == math.inf and one.host == fact.host:
                one.over_at = fact.at
                if fact.kind == "quota_settled":
                    one.used_tokens, one.used_micros = fact.number("tokens"), fact.number("micros")
                else:
                    one.given_back = True

    def _read_end(self, fact: Fact) -> None:
        if fact.kind == "host_stopped" and fact.has("clean"):
            return
        for one in _open_of(self.by_call.values(), fact.host):
            one.dead_at = min(one.dead_at, fact.at)

    def _read_usage(self, fact: Fact) -> None:
        its = self.used[fact.text("request_id")]
        its.key, its.at = str(fact.members.get("key") or ""), min(its.at, fact.at)
        its.picos[fact.text("event_id")] = float(fact.members.get("cost_picos") or 0)
        its.uncounted = its.uncounted or fact.has("uncounted")


def _named(fact: Fact) -> tuple[Fact, str, str, tuple[str, ...], float, float]:
    accounts = tuple(fact.text("accounts").split())
    return fact, fact.text("call"), fact.host, accounts, fact.number("tokens"), fact.number("micros")


def _near(one: Reservation, since: float, until: float) -> bool:
    return one.asked_at <= until and one.gone_at >= since


def _open_of(found: Iterable[list[Reservation]], host: str) -> Iterable[Reservation]:
    return (one for each in found for one in each if one.host == host and one.over_at == math.inf)
