"""Reservations of replicas that die, freeze and lose their store, in any order, against a model from prose.

The prose: a call is reserved of all its accounts or of none; where one is admitted, dollars settled and reserved
are within the limits of day and month, and calls at once within theirs; a replica that has not beaten for 15 s is
dead, and the next who reserves, once a second, gives back what it held; if it was only frozen, what it settles
late is charged, and what it has under way is taken up again with its next beat; an account that was lost is not
trusted before the ledger was asked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.quotas import MemoryQuotas
from ktms.domain.access import quota_refusals
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account, Limit, Refusal, Spent
from ktms.domain.access.quota_calendar import day_of, month_of
from ktms.domain.access.quota_counters import Counters
from ktms.domain.ids import RequestId
from ktms.ports.quota_store import QuotaStore, Reserved, Unread, Wish
from tests.sim.machines.budget import must_fail, search
from tests.sim.machines.reservation_stores import InMemory, InRedis, Store, at_once

TTL_US, SECOND_US = 15_000_000, 1_000_000
ACCOUNTS = ("key:a", "key:b", "tenant:t")
CHOICES = (("key:a", "tenant:t"), ("key:b", "tenant:t"), ("tenant:t",))
REPLICAS = 3
BUDGET = {"examples": 60, "steps": 40}
HUNT = {"examples": 600, "steps": 60}
"""For a store that is wrong: the search ends with its first finding, and the rarest needs hundreds of examples."""


LIMITS = st.builds(
    Limits,
    rpm=st.sampled_from([None, 30, 60]),
    tpm=st.sampled_from([None, 6000, 60_000]),
    concurrent=st.sampled_from([None, 1, 3]),
    usd_per_day_micros=st.sampled_from([None, 100, 250]),
    usd_per_month_micros=st.sampled_from([None, 400]),
)
PAUSES = st.sampled_from([1, 400, 1_000, 5_000, 14_000, 15_000, 16_000, 86_400_000, 700_000])
"""Milliseconds."""


@dataclass(slots=True)
class Call:
    """A call that was reserved, as the model has it; `held` and `swept` say what the store has of it."""

    wish: Wish
    day: dict[str, int]
    held: bool = True
    swept: bool = False


@dataclass(slots=True)
class Replica:
    """One life of a replica; `until_us` is when it is dead unless it beats."""

    name: str
    store: QuotaStore
    until_us: int = 0
    lost: bool = False
    used: bool = False
    calls: dict[RequestId, Call] = field(default_factory=dict)


@dataclass(slots=True)
class Prose:
    """What the store has to know."""

    known: set[str] = field(default_factory=set)
    day: dict[tuple[str, int], int] = field(default_factory=dict)
    month: dict[tuple[str, int], int] = field(default_factory=dict)
    sweep_at_us: int = 0

    def charge(self, account: str, day: int, micros: int) -> None:
        self.day[account, day] = self.day.get((account, day), 0) + micros
        month = (account, month_of(day))
        self.month[month] = self.month.get(month, 0) + micros


class Reservations(RuleBasedStateMachine):
    """Three replicas, one after another in each place; two keys of one team."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.store = self.make()
        self.prose = Prose()
        self.limits = {account: Limits(concurrent=3, usd_per_day_micros=250) for account in ACCOUNTS}
        self.lives = 0
        self.replicas = [self.start() for _ in range(REPLICAS)]
        self.dead: list[Replica] = []

    def make(self) -> Store:
        """Make the store."""
        return InMemory(self.clock)

    def start(self) -> Replica:
        """Begin a life."""
        self.lives += 1
        name = f"gw{self.lives}"
        return Replica(name, self.store.replica(name))

    @rule(
        at=st.integers(0, REPLICAS - 1),
        ids=st.sampled_from(CHOICES),
        tokens=st.sampled_from([0, 10, 600, 6000]),
        micros=st.sampled_from([0, 1, 40, 100]),
    )
    def reserve(self, at: int, ids: tuple[str, ...], tokens: int, micros: int) -> None:
        """Somebody reserves; who is refused comes back after exactly the wait that was told, and passes."""
        replica = self.replicas[at]
        accounts = tuple(Account(name, self.limits[name]) for name in ids if self.limits[name].any)
        self.lives += 1
        wish = Wish(RequestId(f"call-{self.lives}"), accounts, tokens, micros)
        refused = self.asked(replica, wish)
        if refused is None or not refused.wait_ms:
            return
        self.clock.advance(refused.wait_ms / 1000)
        again = self.asked(replica, wish)
        assert again is None or again.limit is Limit.CONCURRENT, (refused, again)

    @rule(at=st.integers(0, REPLICAS - 1), which=st.integers(0, 9), part=st.sampled_from([0, 1, 2]))
    def settle(self, at: int, which: int, part: int) -> None:
        """A call ends, having used nothing, half or all of what was reserved; it is said twice."""
        replica = self.replicas[at]
        if not replica.calls:
            return
        call = list(replica.calls.values())[which % len(replica.calls)]
        self.ended(replica, call, call.wish.tokens * part // 2, call.wish.micros * part // 2)

    @rule(at=st.integers(0, REPLICAS - 1), which=st.integers(0, 9))
    def repeat(self, at: int, which: int) -> None:
        """A replica reserves again what it has: it is one reservation."""
        replica = self.replicas[at]
        held = [call for call in replica.calls.values() if call.held]
        if held and replica.until_us > self.store.now_us():
            assert self.asked(replica, held[which % len(held)].wish) is None

    @rule(at=st.integers(0, REPLICAS - 1))
    def beat(self, at: int) -> None:
        """A replica beats, and takes up again what the store has lost of it."""
        replica = self.replicas[at]
        now_us = self.store.now_us()
        at_once(replica.store.beat())
        if not replica.used:
            return
        if replica.until_us <= now_us or replica.lost:
            self.taken_up(list(replica.calls.values()))
        replica.lost, replica.until_us = False, now_us + TTL_US

    @rule(at=st.integers(0, REPLICAS - 1))
    def die(self, at: int) -> None:
        """A replica is killed; its successor knows nothing of it."""
        self.dead.append(self.replicas[at])
        self.replicas[at] = self.start()

    @rule(ms=PAUSES)
    def time_passes(self, ms: int) -> None:
        """Nothing happens for a while."""
        self.clock.advance(ms / 1000)

    @rule(account=st.sampled_from(ACCOUNTS), limits=LIMITS)
    def change_limits(self, account: str, limits: Limits) -> None:
        """An operator changes limits."""
        self.limits[account] = limits

    @rule()
    def lose(self) -> None:
        """The store restarts without its memory; the ledger knows what was settled."""
        self.store.lose()
        self.prose.known.clear()
        self.prose.sweep_at_us = 0
        for replica in self.everybody():
            replica.until_us = 0
            for call in replica.calls.values():
                call.held = call.swept = False
        for account in ACCOUNTS:
            self.prose.day = {at: micros for at, micros in self.prose.day.items() if at[0] != account}
            self.prose.month = {at: micros for at, micros in self.prose.month.items() if at[0] != account}

    @invariant()
    def the_store_counts_what_is_settled_and_what_is_under_way(self) -> None:
        """Exactly, and nothing of it is negative."""
        day = day_of(self.store.now_us())
        month = month_of(day)
        for account in ACCOUNTS:
            its = self.store.counters(account)
            calls = [call for one in self.everybody() for call in one.calls.values() if account in call.day]
            held = [call for call in calls if call.held]
            assert its.running == len(held), account
            reserved = [call.wish.micros for call in held if call.day[account] == day]
            of_month = [call.wish.micros for call in held if month_of(call.day[account]) == month]
            assert (its.day_reserved, its.month_reserved) == (sum(reserved), sum(of_month)), account
            assert its.day_settled == self.prose.day.get((account, day), 0), account
            assert its.month_settled == self.prose.month.get((account, month), 0), account

    def teardown(self) -> None:
        """At the end nothing remains reserved: those who live settle, the dead are given back."""
        for replica in self.replicas:
            for call in list(replica.calls.values()):
                self.ended(replica, call, 0, 0)
        self.clock.advance(16)
        self.swept()
        looking = Wish(RequestId("last"), (Account("key:a", Limits(concurrent=9)),), 0, 0)
        last = self.store.replica("last")
        assert isinstance(at_once(last.reserve(looking)), Reserved)
        last.settle(looking, 0, 0)
        for account in ACCOUNTS:
            its = self.store.counters(account)
            assert (its.running, its.day_reserved, its.month_reserved) == (0, 0, 0)

    def everybody(self) -> list[Replica]:
        """Give the living and the dead."""
        return [*self.replicas, *self.dead]

    def asked(self, replica: Replica, wish: Wish) -> Refusal | None:
        """Reserve, by the store and by the prose."""
        if not wish.accounts:
            assert at_once(replica.store.reserve(wish)) == Reserved(())
            return None
        answer = at_once(replica.store.reserve(wish))
        self.swept()
        replica.used = True
        self.woken(replica)
        unread = tuple(one for one in wish.accounts if one.limits.dollars and one.id not in self.prose.known)
        if unread and wish.id not in {call.wish.id for call in replica.calls.values() if call.held}:
            assert answer == Unread(unread)
            self.raised(replica, unread)
            return self.asked(replica, wish)
        assert not isinstance(answer, Unread)
        if isinstance(answer, Reserved):
            self.admitted(replica, wish)
            return None
        assert len(answer.states) == len(wish.accounts)
        return answer

    def admitted(self, replica: Replica, wish: Wish) -> None:
        """Note a reservation, which must be within the limits."""
        day = day_of(self.store.now_us())
        if wish.id in replica.calls and replica.calls[wish.id].held:
            return
        replica.calls[wish.id] = Call(wish, {account.id: day for account in wish.accounts})
        for account in wish.accounts:
            its, limits = self.store.counters(account.id), account.limits
            assert limits.concurrent is None or its.running <= limits.concurrent
            most = limits.usd_per_day_micros
            assert most is None or not wish.micros or its.day_settled + its.day_reserved <= most
            most = limits.usd_per_month_micros
            assert most is None or not wish.micros or its.month_settled + its.month_reserved <= most

    def ended(self, replica: Replica, call: Call, tokens: int, micros: int) -> None:
        """Settle a call twice."""
        for _ in range(2):
            replica.store.settle(call.wish, tokens, micros)
        del replica.calls[call.wish.id]
        if call.held or call.swept:
            for account, day in call.day.items():
                self.prose.charge(account, day, micros)

    def raised(self, replica: Replica, accounts: Sequence[Account]) -> None:
        """Ask the ledger, which has lost nothing that the prose knows."""
        day = day_of(self.store.now_us())
        month = month_of(day)
        names = {account.id for account in accounts}
        at_once(
            replica.store.raise_spent(
                [
                    Spent(
                        name,
                        day,
                        month,
                        self.prose.day.get((name, day), 0),
                        self.prose.month.get((name, month), 0),
                    )
                    for name in names
                ]
            )
        )
        self.prose.known |= names
        if replica.lost:
            self.taken_up([call for call in replica.calls.values() if names & set(call.day)])

    def swept(self) -> None:
        """What the dead hold is given back, once a second."""
        now_us = self.store.now_us()
        if now_us < self.prose.sweep_at_us:
            return
        self.prose.sweep_at_us = now_us + SECOND_US
        for replica in self.everybody():
            for call in replica.calls.values():
                if replica.until_us <= now_us and call.held:
                    call.held, call.swept = False, True

    def woken(self, replica: Replica) -> None:
        """Who reserves, lives; if that was not known, it has to look for what is its own."""
        now_us = self.store.now_us()
        if replica.until_us <= now_us:
            replica.lost, replica.until_us = True, now_us + TTL_US

    def taken_up(self, calls: Sequence[Call]) -> None:
        """What is not held is taken up again, on the day that it is."""
        for call in calls:
            if not call.held:
                day = day_of(self.store.now_us())
                call.held, call.swept, call.day = True, False, dict.fromkeys(call.day, day)


class ReservationsInRedis(Reservations):
    """The same over the scripts."""

    def make(self) -> Store:
        """Make the store."""
        return InRedis(self.clock)


@pytest.mark.parametrize("machine", [Reservations, ReservationsInRedis])
def test_no_order_of_calls_and_deaths_takes_a_store_off_the_prose(machine: type[Reservations]) -> None:
    search(machine, **BUDGET)


Wrong = Callable[[pytest.MonkeyPatch], None]


def keeps_what_the_dead_held(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryQuotas, "_sweep", lambda _quotas, _now_us: None)


def gives_back_a_second_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryQuotas, "_ttl_us", TTL_US - SECOND_US)


def lets_everything_pass(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("ktms.adapters.memory.quotas.refusal", lambda *_: None)


def tells_half_the_wait(patch: pytest.MonkeyPatch) -> None:
    right = quota_refusals._ms
    patch.setattr(quota_refusals, "_ms", lambda us: right(us) // 2)


def trusts_what_was_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("ktms.adapters.memory.quotas.NEW", Counters(read=True))


def forgets_the_late(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("ktms.domain.access.quota_counters.charge", lambda counters, *_: counters)


@pytest.mark.parametrize(
    "wrong",
    [
        keeps_what_the_dead_held,
        gives_back_a_second_early,
        lets_everything_pass,
        tells_half_the_wait,
        trusts_what_was_lost,
        forgets_the_late,
    ],
)
def test_a_store_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch, wrong: Wrong) -> None:
    wrong(monkeypatch)
    must_fail(Reservations, **HUNT)
