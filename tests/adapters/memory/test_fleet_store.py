"""What the fleet's store in memory does for those who watch it; its contracts are in tests/contracts."""

from collections.abc import Awaitable, Callable

import pytest

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.fleet_store import NEWS_MAX, MemoryFleetStore
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.fleet_board import REPORT_TTL_S, SPOKEN_TTL_S
from ktms.ports.lease_store import LEASE_TTL_S, Lease, LeaseStoreAway, SlotWish

MAC = NodeName("mac-1")


def lease(number: int) -> Lease:
    return Lease(LeaseId(f"lease-{number}"), MAC, 1)


def test_a_lease_ends_when_its_time_is_over_and_not_before() -> None:
    clock = ManualClock()
    store = MemoryFleetStore(clock)
    store.take([SlotWish(MAC, 1)], LeaseId("a"))
    clock.advance(LEASE_TTL_S - 0.001)
    before = store.busy(MAC)
    clock.advance(0.001)
    assert (before, store.busy(MAC)) == (1, 0)


def test_a_store_that_is_not_opened_knows_nothing_until_it_is() -> None:
    store = MemoryFleetStore(ManualClock(), opened=False)
    with pytest.raises(LeaseStoreAway, match="unknown"):
        store.take([SlotWish(MAC, 1)], LeaseId("a"))
    store.open()
    assert store.take([SlotWish(MAC, 1)], LeaseId("a")).lease == Lease(LeaseId("a"), MAC, 1)


def test_being_away_ends_when_told_so() -> None:
    store = MemoryFleetStore(ManualClock(), away="timeout")
    with pytest.raises(LeaseStoreAway, match="timeout"):
        store.check_here()
    store.away = None
    store.check_here()


def test_a_report_that_nobody_renews_is_forgotten() -> None:
    clock = ManualClock()
    store = MemoryFleetStore(clock)
    store.post([NodeReport(MAC, Look.ANSWERED)])
    clock.advance(SPOKEN_TTL_S)
    assert len(store.read([MAC], []).seen) == 1
    clock.advance(REPORT_TTL_S - SPOKEN_TTL_S)
    assert store.read([MAC], []).seen == ()


def test_a_token_is_forgotten_long_before() -> None:
    clock = ManualClock()
    store = MemoryFleetStore(clock)
    store.post([NodeReport(MAC, Look.SPOKE)])
    clock.advance(SPOKEN_TTL_S)
    assert store.read([MAC], []).seen == ()


def test_who_takes_news_too_slowly_gets_an_end_instead_of_a_gap() -> None:
    store = MemoryFleetStore(ManualClock())
    listener = store.hear()
    for number in range(NEWS_MAX + 5):
        store.take([SlotWish(MAC, 1)], lease(number).id)
        store.release(lease(number), 0)
    told = [listener.get_nowait() for _ in range(listener.qsize())]
    assert told == [MAC] * NEWS_MAX + [None]


async def test_what_a_replica_said_to_a_store_that_was_away_is_done_when_it_is_back() -> None:
    store = MemoryFleetStore(ManualClock())
    replica = MemoryReplica(store, "gw1")
    grant = await replica.take([SlotWish(MAC, 1)], LeaseId("a"))
    assert grant.lease is not None
    store.away = "away"
    replica.release(grant.lease)
    assert replica.busy(MAC) == 1
    store.away = None
    assert (await replica.renew()).kept == 0
    assert replica.busy(MAC) == 0


@pytest.mark.parametrize("method", ["take", "renew", "read", "claim", "post", "moment", "drained", "freed"])
async def test_a_store_that_is_away_answers_nobody(method: str) -> None:
    replica = MemoryReplica(MemoryFleetStore(ManualClock(), away="silenced"), "gw1")
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "take": lambda: replica.take([], LeaseId("a")),
        "renew": replica.renew,
        "read": lambda: replica.read([], []),
        "claim": lambda: replica.claim("probe", 1),
        "post": lambda: replica.post([]),
        "moment": replica.moment,
        "drained": lambda: replica.drained([], 0.0),
        "freed": lambda: anext(replica.freed()),
    }
    with pytest.raises(LeaseStoreAway, match="silenced"):
        await asked[method]()
