import pytest

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import SlotWish

MAC = NodeName("mac-1")


async def test_a_store_of_one_replica_grants_at_once_and_counts() -> None:
    store = MemoryLeaseStore()
    grant = await store.take([SlotWish(MAC, 1)], LeaseId("a"))
    assert grant.lease is not None
    assert store.busy(MAC) == 1
    store.release(grant.lease)
    assert store.busy(MAC) == 0


@pytest.mark.parametrize("passed_s", [16.0, 86_400.0])
async def test_its_leases_do_not_end_by_themselves_and_what_drains_does(passed_s: float) -> None:
    clock = ManualClock()
    store = MemoryLeaseStore(clock)
    await store.take([SlotWish(MAC, 2)], LeaseId("a"))
    drains = (await store.take([SlotWish(MAC, 2)], LeaseId("b"))).lease
    assert drains is not None
    store.release(drains, drain_s=10)
    clock.advance(passed_s)
    assert store.busy(MAC) == 1
    assert (await store.renew()).kept == 1
