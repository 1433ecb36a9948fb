"""Leases in a store that loses its memory, and their holders, in any order, against a model written from prose.

The prose: a lease lives for 15 s after it was granted or renewed; never more are granted on a node than it has
slots; taking the same lease twice is one grant; a lease given back is gone, or drains in its place; a renewal
takes up again what is gone, full or not, and then nothing is granted until the count fits; a store that was found
empty grants nothing for 6 s; a dead holder's leases end by their time and no sooner. Two stores follow it: the one
in memory, and the twins of the Lua scripts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import EPOCH_GRACE_S, LEASE_TTL_S, Lease, LeaseStoreAway, Renewed, SlotWish
from sim.fakes.redis import twins
from sim.fakes.redis.keyspace import Keyspace
from sim.fakes.redis.resp import Answer
from tests.sim.machines.budget import must_fail, search

TTL_S = 15
GRACE_S = 6
SLOTS = {NodeName("one"): 1, NodeName("two"): 2}
DRAIN_S = 10
HOLDERS = ("gw1", "gw2")
NAMES = tuple(f"lease-{number}" for number in range(6))

PAUSES = st.sampled_from([1, 5, 6, 7, 14, 15, 16]) | st.integers(0, 20)
"""Whole seconds, so that model and store add up to the same moments."""

BUDGET = {"examples": 300, "steps": 40}


class Store(Protocol):
    """A store of leases as this machine drives it."""

    def take(self, wishes: Sequence[SlotWish], lease: LeaseId) -> Lease | None: ...
    def release(self, lease: Lease, drain_s: float) -> None: ...
    def renew(self, leases: Sequence[Lease]) -> Renewed: ...
    def busy(self, node: NodeName) -> int: ...
    def drained(self, node: NodeName, until: float) -> None: ...
    def lose(self) -> None: ...


class InMemory:
    """The store of one process."""

    def __init__(self, clock: ManualClock) -> None:
        self._store = MemoryFleetStore(clock=clock)

    def take(self, wishes: Sequence[SlotWish], lease: LeaseId) -> Lease | None:
        return self._store.take(wishes, lease).lease

    def release(self, lease: Lease, drain_s: float) -> None:
        self._store.release(lease, drain_s)

    def renew(self, leases: Sequence[Lease]) -> Renewed:
        return self._store.renew(leases)

    def busy(self, node: NodeName) -> int:
        return self._store.busy(node)

    def drained(self, node: NodeName, until: float) -> None:
        self._store.drained(node, until)

    def lose(self) -> None:
        self._store.lose()


class InRedis:
    """The scripts, by their twins."""

    def __init__(self, clock: ManualClock) -> None:
        self._data = Keyspace(clock.monotonic)
        self._data.put(b"epoch", b"-1000000")

    def take(self, wishes: Sequence[SlotWish], lease: LeaseId) -> Lease | None:
        keys = [b"epoch", *(wish.node.encode() for wish in wishes)]
        ttl, grace = round(LEASE_TTL_S * 1000), round(EPOCH_GRACE_S * 1000)
        answer = twins.take(self._data, keys, _words(lease, ttl, grace, *(wish.slots for wish in wishes)))
        at = _numbers(answer)[0]
        if at == -1:
            raise LeaseStoreAway("unknown")
        return None if at == 0 else Lease(lease, wishes[at - 1].node, wishes[at - 1].slots)

    def release(self, lease: Lease, drain_s: float) -> None:
        words = _words(lease.id, round(drain_s * 1000), "freed", lease.node)
        twins.release(self._data, [lease.node.encode()], words)

    def renew(self, leases: Sequence[Lease]) -> Renewed:
        keys = [b"epoch", *(lease.node.encode() for lease in leases)]
        named = [word for lease in leases for word in (lease.id, lease.slots)]
        marks = _numbers(twins.renew(self._data, keys, _words(round(LEASE_TTL_S * 1000), *named)))
        found = list(zip(marks[::2], marks[1::2], strict=True))
        regained = tuple(leases[at - 1] for at, mark in found if mark == 1)
        over = tuple(leases[at - 1] for at, mark in found if mark != 1)
        return Renewed(len(leases) - len(found), regained, over)

    def busy(self, node: NodeName) -> int:
        return self._data.sets.count(node.encode(), above=self._data.now_ms())

    def drained(self, node: NodeName, until: float) -> None:
        twins.drained(self._data, [node.encode()], _words("freed", round(until * 1000), node))

    def lose(self) -> None:
        self._data.clear()


def _words(*words: str | int) -> list[bytes]:
    return [str(word).encode() for word in words]


def _numbers(answer: Answer) -> list[int]:
    assert isinstance(answer, list)
    return [int(one) for one in answer if isinstance(one, int)]


@dataclass(slots=True)
class Prose:
    """What the store has to know: until when slots are taken, by what; `young_until` after it was found empty."""

    ends: dict[NodeName, dict[str, float]] = field(default_factory=lambda: {node: {} for node in SLOTS})
    empty: bool = False
    young_until: float = 0.0

    def found(self, now: float) -> bool:
        """Somebody asks: an empty store begins; tell whether it may grant."""
        if self.empty:
            self.empty, self.young_until = False, now + GRACE_S
        for ends in self.ends.values():
            for name in [name for name, at in ends.items() if at <= now]:
                del ends[name]
        return now >= self.young_until


class Leases(RuleBasedStateMachine):
    """Two holders of slots on two nodes; a third of what they do is late."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.store = self.make()
        self.prose = Prose()
        self.held: dict[str, dict[LeaseId, Lease]] = {holder: {} for holder in HOLDERS}

    def make(self) -> Store:
        """Make the store."""
        return InMemory(self.clock)

    @rule(holder=st.sampled_from(HOLDERS), name=st.sampled_from(NAMES), nodes=st.permutations(tuple(SLOTS)))
    def take(self, holder: str, name: str, nodes: list[NodeName]) -> None:
        """Somebody asks for a slot, perhaps once more."""
        lease = LeaseId(f"{holder}/{name}")
        wishes = [SlotWish(node, SLOTS[node]) for node in nodes]
        now = self.clock.monotonic()
        knows = self.prose.found(now)
        try:
            granted = self.store.take(wishes, lease)
        except LeaseStoreAway:
            assert not knows, "it refuses although it knows"
            return
        assert knows, "it grants although it does not know"
        ends = self.prose.ends
        again = next((node for node in nodes if lease in ends[node]), None)
        free = next((node for node in nodes if len(ends[node]) < SLOTS[node]), None)
        expected = free if again is None else again
        assert (None if granted is None else granted.node) == expected
        if granted is not None:
            ends[granted.node][lease] = now + TTL_S
            self.held[holder][lease] = granted

    @rule(holder=st.sampled_from(HOLDERS), which=st.integers(0, 5), drain_s=st.sampled_from([0, 0, DRAIN_S]))
    def release(self, holder: str, which: int, drain_s: int) -> None:
        """A holder gives a slot back, and says so twice."""
        leases = [*self.held[holder].values()]
        if not leases:
            return
        lease = leases[which % len(leases)]
        del self.held[holder][lease.id]
        now, ends = self.clock.monotonic(), self.prose.ends[lease.node]
        if ends.get(lease.id, now) <= now:
            drain_s = 0  # of one that is over, it depends on who looked last whether something drains
        for _ in range(2):
            self.store.release(lease, drain_s)
        if ends.pop(lease.id, None) is not None and drain_s:
            ends[f"drains {lease.id}"] = now + drain_s

    @rule(holder=st.sampled_from(HOLDERS))
    def renew(self, holder: str) -> None:
        """A holder renews all it has."""
        leases, now = [*self.held[holder].values()], self.clock.monotonic()
        if not leases:
            return
        self.prose.found(now)
        regained: list[Lease] = []
        over: list[Lease] = []
        for lease in leases:
            ends = self.prose.ends[lease.node]
            if lease.id not in ends:
                (regained if len(ends) < lease.slots else over).append(lease)
            ends[lease.id] = now + TTL_S
        done = self.store.renew(leases)
        assert (done.regained, done.over) == (tuple(regained), tuple(over))
        assert done.kept == len(leases) - len(regained) - len(over)

    @rule(holder=st.sampled_from(HOLDERS))
    def die(self, holder: str) -> None:
        """A holder is killed: it gives nothing back, and its successor knows nothing."""
        self.held[holder].clear()

    @rule(seconds=PAUSES)
    def time_passes(self, seconds: int) -> None:
        """Nothing happens for a while."""
        self.clock.advance(seconds)

    @rule(node=st.sampled_from(tuple(SLOTS)), ago_s=st.sampled_from([0, 1, 6]))
    def idle(self, node: NodeName, ago_s: int) -> None:
        """An engine was seen idle by a look that began a while ago: what drained before that is free."""
        until = self.clock.monotonic() - ago_s
        self.store.drained(node, until)
        ends = self.prose.ends[node]
        for name in [name for name, at in ends.items() if name.startswith("drains ") and at - DRAIN_S < until]:
            del ends[name]

    @rule()
    def lose(self) -> None:
        """The store restarts without its memory."""
        self.store.lose()
        self.prose.empty = True
        for ends in self.prose.ends.values():
            ends.clear()

    @invariant()
    def the_store_counts_what_lives(self) -> None:
        """Leases and what drains in their place; what is over its time counts no more."""
        now = self.clock.monotonic()
        for node, ends in self.prose.ends.items():
            assert self.store.busy(node) == sum(at > now for at in ends.values()), node


class LeasesInRedis(Leases):
    """The same over the scripts."""

    def make(self) -> Store:
        """Make the store."""
        return InRedis(self.clock)


@pytest.mark.parametrize("machine", [Leases, LeasesInRedis])
def test_no_order_of_grants_and_deaths_takes_a_store_off_the_prose(machine: type[Leases]) -> None:
    search(machine, **BUDGET)


Wrong = Callable[[pytest.MonkeyPatch], None]


def grants_one_too_many(patch: pytest.MonkeyPatch) -> None:
    def take(store: MemoryFleetStore, wishes: Sequence[SlotWish], lease: LeaseId) -> object:
        return right(store, [SlotWish(wish.node, wish.slots + 1) for wish in wishes], lease)

    right = MemoryFleetStore.take
    patch.setattr(MemoryFleetStore, "take", take)


def keeps_the_slots_of_the_dead(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("ktms.adapters.memory.fleet_store._live", lambda members, _now: members)


def forgets_a_lease_a_second_early(patch: pytest.MonkeyPatch) -> None:
    right = MemoryFleetStore.__init__
    patch.setattr(MemoryFleetStore, "__init__", lambda store, **given: right(store, ttl_s=TTL_S - 1, **given))


def grants_while_it_is_young(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryFleetStore, "_young", lambda _store: False)


def never_grows_up(patch: pytest.MonkeyPatch) -> None:
    def young(store: MemoryFleetStore) -> bool:
        store._epoch_at = store.clock.monotonic() if store._epoch_at != float("-inf") else store._epoch_at
        return right(store)

    right = MemoryFleetStore._young
    patch.setattr(MemoryFleetStore, "_young", young)


def frees_a_draining_slot_at_once(patch: pytest.MonkeyPatch) -> None:
    right = MemoryFleetStore.release
    patch.setattr(MemoryFleetStore, "release", lambda store, lease, _drain_s: right(store, lease, 0.0))


def drops_what_a_full_node_has_lost(patch: pytest.MonkeyPatch) -> None:
    def renew(store: MemoryFleetStore, leases: Sequence[Lease]) -> Renewed:
        done = right(store, leases)
        for lease in done.over:
            store.release(lease, 0.0)
        return done

    right = MemoryFleetStore.renew
    patch.setattr(MemoryFleetStore, "renew", renew)


def renews_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryFleetStore, "renew", lambda _store, leases: Renewed(len(leases)))


def counts_a_lease_twice(patch: pytest.MonkeyPatch) -> None:
    def take(store: MemoryFleetStore, wishes: Sequence[SlotWish], lease: LeaseId) -> object:
        for wish in wishes:
            if lease in store._leases.get(wish.node, {}):
                store._leases[wish.node][f"{lease} again"] = store._leases[wish.node].pop(lease)
        return right(store, wishes, lease)

    right = MemoryFleetStore.take
    patch.setattr(MemoryFleetStore, "take", take)


@pytest.mark.parametrize(
    "wrong",
    [
        grants_one_too_many,
        keeps_the_slots_of_the_dead,
        forgets_a_lease_a_second_early,
        grants_while_it_is_young,
        never_grows_up,
        frees_a_draining_slot_at_once,
        drops_what_a_full_node_has_lost,
        renews_nothing,
        counts_a_lease_twice,
    ],
)
def test_a_store_that_is_wrong_is_found(wrong: Wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong(monkeypatch)
    must_fail(Leases, **BUDGET)


def _over_as_if_it_fitted(patch: pytest.MonkeyPatch) -> None:
    def renew(data: Keyspace, keys: list[bytes], words: list[bytes]) -> Answer:
        answer = right(data, keys, words)
        assert isinstance(answer, list)
        return [1 if at % 2 and one == 2 else one for at, one in enumerate(answer)]

    right = twins.renew
    patch.setattr(twins, "renew", renew)


def test_a_script_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    _over_as_if_it_fitted(monkeypatch)
    must_fail(LeasesInRedis, **BUDGET)
