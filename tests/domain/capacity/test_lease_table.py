"""The lease machine: its table, the table of leases, and the store in memory beside it, step by step."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import Grant, Lease, LeaseStoreAway, SlotWish
from tests.domain.capacity.lease_table import NEXT, Event, Held, LeaseTable, Phase, Renewal, Slot, Taken

TTL_S, GRACE_S = 15.0, 6.0
A, B = Slot(NodeName("a"), 1), Slot(NodeName("b"), 2)


def table() -> LeaseTable:
    made = LeaseTable(TTL_S, GRACE_S)
    made.open()
    return made


def held(made: LeaseTable, now: float, *wishes: Slot, lease: str = "x") -> Held:
    found = made.take(now, wishes, LeaseId(lease)).held
    assert found is not None
    return found


def test_every_event_has_a_place_in_the_table() -> None:
    assert set(NEXT) == {(phase, event) for phase in Phase for event in Event}


def test_only_a_take_or_a_renewal_brings_a_lease_to_life() -> None:
    born = {event for (phase, event), after in NEXT.items() if phase is Phase.GONE and after is not Phase.GONE}

    assert born == {Event.TAKEN, Event.RENEWED}


def test_the_first_node_with_a_free_slot_is_granted() -> None:
    made = table()
    held(made, 0, A)

    assert made.take(0, (A, B), LeaseId("y")) == Taken(known=True, held=Held(LeaseId("y"), B.node, 2), busy=(1, 1))


def test_where_all_are_full_nothing_is_granted() -> None:
    made = table()
    held(made, 0, A)

    assert made.take(0, (A,), LeaseId("y")) == Taken(known=True, held=None, busy=(1,))


def test_a_take_that_is_repeated_gives_the_same_lease() -> None:
    made = table()
    first = held(made, 0, A)
    blocked = held(made, 0, A, B, lease="y")
    made.release(1, first)

    assert held(made, 2, A, B, lease="y") == blocked
    assert (made.busy(2, A.node), made.busy(2, B.node)) == (0, 1)


def test_a_lease_ends_after_its_time_unless_it_is_renewed() -> None:
    made = table()
    lease = held(made, 0, A)
    assert made.renew(10, [lease]) == Renewal(1)

    assert made.busy(10 + TTL_S - 0.1, A.node) == 1
    assert made.busy(10 + TTL_S, A.node) == 0


def test_a_lease_that_was_lost_is_taken_up_again() -> None:
    made = table()
    lease = held(made, 0, A)

    assert made.renew(TTL_S, [lease]) == Renewal(0, (lease,))


def test_on_a_full_node_it_is_taken_up_again_over_the_count() -> None:
    made = table()
    lease = held(made, 0, A)
    held(made, TTL_S, A, lease="y")

    assert made.renew(TTL_S, [lease]) == Renewal(0, (), (lease,))
    assert (made.busy(TTL_S, A.node), made.over(TTL_S, A.node)) == (2, 1)
    assert made.take(TTL_S, (A,), LeaseId("z")).held is None


def test_a_slot_that_drains_is_free_when_its_time_is_over() -> None:
    made = table()
    made.release(0, held(made, 0, A), 10)

    assert (made.busy(9.9, A.node), made.busy(10, A.node)) == (1, 0)


def test_a_slot_that_drains_is_free_when_the_node_is_seen_idle() -> None:
    made = table()
    made.release(0, held(made, 0, B), 10)
    held(made, 0, B, lease="y")
    made.drained(1, B.node)

    assert made.busy(1, B.node) == 1


def test_what_drains_is_changed_by_no_second_release_and_no_renewal() -> None:
    made = table()
    lease = held(made, 0, A)
    made.release(0, lease, 10)
    made.release(1, lease)
    made.release(1, lease, 100)
    made.renew(1, [lease])

    assert (made.busy(9.9, A.node), made.busy(10, A.node)) == (1, 0)


def test_a_release_of_what_is_gone_is_harmless() -> None:
    made = table()
    lease = held(made, 0, A)
    made.release(0, lease)
    made.release(0, lease, 10)

    assert made.busy(0, A.node) == 0


def test_an_empty_table_grants_only_renewals_for_a_while() -> None:
    made = table()
    lease = held(made, 0, B)
    made.lose_memory(1)

    assert made.take(2, (B,), LeaseId("y")) == Taken(known=False)
    assert made.renew(3, [lease]) == Renewal(0, (lease,))
    assert made.take(2 + GRACE_S - 0.1, (B,), LeaseId("y")) == Taken(known=False)
    assert made.take(2 + GRACE_S, (B,), LeaseId("y")).known


def test_its_repr_counts_the_leases() -> None:
    made = table()
    held(made, 0, A)

    assert repr(made) == "LeaseTable(1 leases, open=True)"


@pytest.mark.parametrize("event", Event)
def test_a_draining_lease_ends_only_by_time_or_by_an_idle_node(event: Event) -> None:
    ends = event in {Event.EXPIRED, Event.SEEN_IDLE}

    assert (NEXT[Phase.DRAINING, event] is Phase.GONE) is ends


class Leases(RuleBasedStateMachine):
    """Two implementations of the same rules, the table and the store in memory, driven alike."""

    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.slots = {NodeName(name): slots for name, slots in (("a", 1), ("b", 2), ("c", 3))}
        self.clock = ManualClock()
        self.table = LeaseTable(TTL_S, GRACE_S)
        self.store = MemoryFleetStore(self.clock, TTL_S, GRACE_S, opened=False)
        self.renewed_at: dict[Held, float] = {}
        self.taken = 0

    @property
    def now(self) -> float:
        return self.clock.monotonic()

    @initialize(opened=st.booleans())
    def begin(self, opened: bool) -> None:
        if opened:
            self.table.open()
            self.store.open()

    @rule(target=leases, nodes=st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True))
    def take(self, nodes: list[str]) -> Held:
        self.taken += 1
        lease_id = LeaseId(f"l{self.taken}")
        wishes = [Slot(NodeName(name), self.slots[NodeName(name)]) for name in nodes]
        found = self.table.take(self.now, wishes, lease_id)
        try:
            grant = self.store.take([SlotWish(wish.node, wish.slots) for wish in wishes], lease_id)
        except LeaseStoreAway:
            assert not found.known
        else:
            assert found.known
            assert grant == Grant(None if found.held is None else _lease(found.held), found.busy)
        held = found.held or Held(lease_id, wishes[0].node, wishes[0].slots)
        if found.held is not None:
            self.renewed_at[held] = self.now
        return held

    @rule(lease=leases)
    def renew(self, lease: Held) -> None:
        """As a replica does: what was never granted or was given back is not renewed."""
        if lease in self.renewed_at:
            found = self.table.renew(self.now, [lease])
            told = self.store.renew([_lease(lease)])
            assert (found.kept, len(found.regained), len(found.over)) == (
                told.kept,
                len(told.regained),
                len(told.over),
            )
            self.renewed_at[lease] = self.now

    @rule(lease=consumes(leases), drain_s=st.sampled_from([0.0, 10.0]))
    def release(self, lease: Held, drain_s: float) -> None:
        self.renewed_at.pop(lease, None)
        for seconds in (drain_s, 0.0):
            self.table.release(self.now, lease, seconds)
            self.store.release(_lease(lease), seconds)

    @rule(node=st.sampled_from("abc"))
    def see_idle(self, node: str) -> None:
        self.table.drained(self.now, NodeName(node))
        self.store.drained(NodeName(node), self.now + 1.0)

    @rule()
    def lose_memory(self) -> None:
        self.table.lose_memory(self.now)
        self.store.lose()

    @rule(seconds=st.sampled_from([1.0, 5.0, 6.0, 14.0, 15.0, 30.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def abandon_all(self) -> None:
        """Every replica is killed at once: within one lifetime nothing is left."""
        self.renewed_at.clear()
        self.clock.advance(TTL_S)
        assert all(self.table.busy(self.now, node) == 0 for node in self.slots)

    @invariant()
    def never_more_than_the_slots_but_for_those_marked(self) -> None:
        for node, slots in self.slots.items():
            assert self.table.busy(self.now, node) - self.table.over(self.now, node) <= slots

    @invariant()
    def both_count_the_same(self) -> None:
        assert all(self.table.busy(self.now, node) == self.store.busy(node) for node in self.slots)


def _lease(held: Held) -> Lease:
    return Lease(held.id, held.node, held.slots)


TestLeases = Leases.TestCase
TestLeases.settings = settings(stateful_step_count=40, deadline=None)
