"""What a replica does with the shared store is written down as it happened."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.domain.capacity.node_report import Look, ModelReport, NodeReport
from ktms.domain.ids import LeaseId, ModelName, NodeName, VendorModel
from ktms.ports.lease_store import Lease, LeaseStoreAway, SlotWish
from sim.fakes.fleet_line import FleetLine
from sim.fakes.leases import FleetMeans, JournalLeases
from sim.fakes.shared_store import SharedStore
from sim.journal.journal import Journal
from sim.trace import Trace

MAC = NodeName("mac-1")
WISH = SlotWish(MAC, 1)
MODEL = ModelName("public")


class Desk:
    """A replica with its journal and trace, and the store behind it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryFleetStore(self.clock)
        self.journal = Journal(lambda: 0.0)
        self.trace = Trace()
        self.leases = JournalLeases(
            "gw1", self.journal, self.trace, FleetMeans.of(MemoryReplica(self.store, "gw1#1"))
        )

    async def take(self, number: int) -> Lease | None:
        return (await self.leases.take((WISH,), LeaseId(f"lease-{number}"))).lease

    @property
    def kinds(self) -> list[str]:
        return [fact.kind for fact in self.journal.facts]


@pytest.fixture
async def desk() -> Desk:
    return Desk()


async def test_a_grant_is_a_fact_with_the_slots_it_was_asked_with(desk: Desk) -> None:
    await desk.take(1)
    assert desk.journal.has("lease_taken", lease="lease-1", node="mac-1", slots=1)


async def test_a_refusal_is_a_fact(desk: Desk) -> None:
    await desk.take(1)
    await desk.take(2)
    assert desk.journal.has("lease_refused", nodes="mac-1", slots="1")


async def test_a_release_is_one_fact_however_often_it_is_asked_for(desk: Desk) -> None:
    lease = await desk.take(1)
    assert lease is not None
    desk.leases.release(lease, drain_s=3.0)
    desk.leases.release(lease)
    assert desk.kinds == ["lease_taken", "lease_released"]
    assert desk.journal.has("lease_released", lease="lease-1", node="mac-1", drain_s=3.0)


async def test_held_counts_what_was_not_released(desk: Desk) -> None:
    lease = await desk.take(1)
    assert lease is not None
    before = desk.leases.held()
    desk.leases.release(lease)
    assert (before, desk.leases.held()) == (1, 0)


async def test_a_renewal_is_a_fact_of_each_lease(desk: Desk) -> None:
    await desk.take(1)
    await desk.leases.renew()
    assert desk.journal.has("lease_renewed", lease="lease-1", node="mac-1", how="kept")


async def test_a_lease_that_was_lost_is_said_to_be_regained(desk: Desk) -> None:
    await desk.take(1)
    desk.clock.advance(16)
    await desk.leases.renew()
    assert desk.journal.has("lease_renewed", lease="lease-1", how="regained")


async def test_one_that_finds_its_node_full_is_said_to_be_over(desk: Desk) -> None:
    await desk.take(1)
    desk.clock.advance(16)
    await MemoryReplica(desk.store, "gw2#1").take((WISH,), LeaseId("another"))
    await desk.leases.renew()
    assert desk.journal.has("lease_renewed", lease="lease-1", how="over")


async def test_a_store_that_is_away_is_a_fact_and_an_error(desk: Desk) -> None:
    desk.store.away = "away"
    with pytest.raises(LeaseStoreAway):
        await desk.take(1)
    with pytest.raises(LeaseStoreAway):
        await desk.leases.renew()
    assert desk.journal.has("leases_unknown", operation="take", failure="away", nodes="mac-1")
    assert desk.journal.has("leases_unknown", operation="renew", failure="away")


async def test_whoever_gives_up_may_leave_a_lease_behind(desk: Desk) -> None:
    shared = SharedStore(desk.store)
    shared.mode("redis_hung", on=True)
    leases = JournalLeases("gw1", desk.journal, desk.trace, FleetMeans.of(FleetLine(shared, "gw1#1")))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(leases.take((WISH,), LeaseId("lease-1")))
        await asyncio.sleep(0)
        task.cancel()
    assert desk.journal.has("leases_unknown", operation="take", failure="cancelled", nodes="mac-1")


async def test_waiters_are_facts(desk: Desk) -> None:
    desk.leases.join(MODEL, "w1")
    desk.leases.leave(MODEL, "w1")
    assert desk.kinds == ["waiter_joined", "waiter_left"]


async def test_what_a_look_has_found_is_a_fact(desk: Desk) -> None:
    cold = {VendorModel("m"): ModelReport(loaded=False)}
    await desk.leases.post((NodeReport(MAC, Look.ANSWERED, draining=True, slots=2, busy=1, models=cold),))
    assert desk.journal.has(
        "node_looked", node="mac-1", look="answered", draining=True, slots=2, busy=1, cold=True
    )


async def test_idle_nodes_are_a_fact(desk: Desk) -> None:
    await desk.leases.drained((MAC,), await desk.leases.moment())
    (fact,) = desk.journal.of("leases_drained")
    assert fact.text("nodes") == "mac-1"
    assert 0 <= fact.number("ago_s") < 1


async def test_a_look_at_the_board_is_in_the_trace_alone(desk: Desk) -> None:
    view = await desk.leases.read((MAC,), (MODEL,))
    assert (dict(view.busy), dict(view.waiting)) == ({MAC: 0}, {MODEL: 0})
    assert (desk.kinds, desk.trace.counts["reply"]) == ([], 1)


async def test_every_answer_is_in_the_trace(desk: Desk) -> None:
    await desk.take(1)
    await desk.take(2)
    assert desk.trace.counts["reply"] == 2


async def test_news_are_handed_on(desk: Desk) -> None:
    lease = await desk.take(1)
    assert lease is not None
    news = desk.leases.freed()
    async with asyncio.TaskGroup() as group:
        heard = group.create_task(_next(news))
        await asyncio.sleep(0)
        desk.leases.release(lease)
    assert heard.result() == MAC
    await news.aclose()  # type: ignore[attr-defined]  # it is a generator


async def _next(news: AsyncIterator[NodeName]) -> NodeName:
    return await anext(news)
