"""Contract of `ktms/ports/lease_store.py`: one suite for every implementation."""

import asyncio
from collections.abc import Callable

import pytest

from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import Lease, LeaseStore, SlotWish
from sim.fakes.leases import JournalLeases
from sim.journal.journal import Journal
from sim.trace import Trace

MAC, BOX = NodeName("mac-1"), NodeName("linux-1")


def in_a_world() -> LeaseStore:
    return JournalLeases("gw1", Journal(lambda: 0.0), Trace())


@pytest.fixture(params=[MemoryLeaseStore, in_a_world], ids=["memory", "sim"])
def store(request: pytest.FixtureRequest) -> LeaseStore:
    make: Callable[[], LeaseStore] = request.param
    return make()


async def take(store: LeaseStore, number: int, *wishes: SlotWish) -> Lease | None:
    return await store.take(wishes, LeaseId(f"lease-{number}"))


async def test_a_free_slot_is_granted_on_the_first_node_wished(store: LeaseStore) -> None:
    lease = await take(store, 1, SlotWish(MAC, 1), SlotWish(BOX, 1))
    assert lease is not None
    assert lease.node == MAC


async def test_a_full_node_passes_the_wish_on(store: LeaseStore) -> None:
    await take(store, 1, SlotWish(MAC, 1))
    lease = await take(store, 2, SlotWish(MAC, 1), SlotWish(BOX, 1))
    assert lease is not None
    assert lease.node == BOX


async def test_nothing_is_granted_when_all_are_full(store: LeaseStore) -> None:
    await take(store, 1, SlotWish(MAC, 1))
    assert await take(store, 2, SlotWish(MAC, 1)) is None


async def test_never_more_leases_than_slots_however_many_ask_at_once(store: LeaseStore) -> None:
    granted = await asyncio.gather(*(take(store, number, SlotWish(MAC, 3)) for number in range(20)))
    assert sum(lease is not None for lease in granted) == 3


async def test_a_released_slot_is_free_again_and_releasing_twice_is_harmless(store: LeaseStore) -> None:
    lease = await take(store, 1, SlotWish(MAC, 1))
    other = await take(store, 2, SlotWish(BOX, 1))
    assert lease is not None
    assert other is not None
    store.release(lease)
    store.release(lease)
    assert await take(store, 3, SlotWish(MAC, 1)) is not None
    assert await take(store, 4, SlotWish(MAC, 1)) is None


async def test_busy_counts_what_is_held(store: LeaseStore) -> None:
    lease = await take(store, 1, SlotWish(MAC, 2))
    assert lease is not None
    assert store.busy(MAC) == 1
    store.release(lease)
    assert store.busy(MAC) == 0
