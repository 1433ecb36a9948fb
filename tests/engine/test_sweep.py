"""What keeps leases alive and the view of the fleet fresh, over one and more replicas."""

import asyncio
from collections.abc import Sequence

import pytest

from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.upstream import Pause, Silence
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.ids import NodeName
from ktms.engine.call import Result, Whole
from ktms.engine.sweep import RENEW_AGAIN_S, VIEW_EVERY_S
from ktms.engine.waiting import POLL_S
from ktms.ports.fleet_board import BoardView
from ktms.ports.lease_store import LEASE_TTL_S, RENEW_EVERY_S, SlotWish
from ktms.ports.telemetry import Dependency, Gauge
from tests.engine.machines import ONE, desk_of, machine, machines
from tests.engine.rig import Rig, replica_of, snapshot, whole
from tests.engine.virtual_loop import after, settle

ONE_NODE = machines(machine("mac-1"))


@pytest.fixture
async def lone() -> Rig:
    """One replica with one node of one slot."""
    return await replica_of(ONE_NODE)


def busy(rig: Rig, node: NodeName = ONE) -> int:
    state = rig.machines.fleet.state(node)
    assert state is not None
    return state.busy


async def hold(rig: Rig, replica: MemoryReplica | None = None) -> None:
    """Take the only slot."""
    grant = await (replica or rig.slots).take((SlotWish(ONE, 1),), rig.identities.lease())
    assert grant.lease is not None


async def test_a_lease_lives_as_long_as_its_answer(lone: Rig) -> None:
    lone.says("mac-1", (Pause(4 * LEASE_TTL_S), *whole()))
    lone.says("alpha", whole())
    async with lone.at_work() as group:
        call = group.create_task(lone.handle(lone.call("homely", max_tokens=500)))
        for _ in range(7):
            await after(RENEW_EVERY_S)
            assert lone.fleet_store.busy(ONE) == 1
        assert isinstance(await call, Whole)
        assert lone.fleet_store.busy(ONE) == 0
    assert [event.name for event in lone.telemetry.events if event.name == "lease_regained"] == []


async def test_the_slots_of_a_replica_that_dies_come_back_within_one_ttl(lone: Rig) -> None:
    other = await lone.peer("two")
    other.says("mac-1", (Silence(),))
    async with lone.at_work() as group:
        async with other.at_work():
            dying = group.create_task(other.handle(other.call("homely", max_tokens=500)))
            await after(1)
            assert lone.fleet_store.busy(ONE) == 1
        await after(LEASE_TTL_S)
        assert lone.fleet_store.busy(ONE) == 0
        dying.cancel()


@pytest.mark.parametrize(("others", "over"), [((), "False"), (("two",), "True")])
async def test_a_lease_that_was_lost_is_taken_up_again_and_told(
    lone: Rig, others: Sequence[str], over: str
) -> None:
    await hold(lone)
    lone.fleet_store.lose()
    lone.fleet_store.open()
    for other in others:
        await hold(lone, MemoryReplica(lone.fleet_store, other))
    await lone.sweeper.renew()
    assert lone.fleet_store.busy(ONE) == 1 + len(others)
    (event,) = [event for event in lone.telemetry.events if event.name == "lease_regained"]
    assert event.facts == {"node": "mac-1", "over": over}


async def test_a_store_that_is_away_is_told_and_nothing_else_happens(lone: Rig) -> None:
    await hold(lone)
    lone.fleet_store.away = "timeout"
    await lone.sweeper.renew()
    await lone.sweeper.look()
    assert not lone.machines.fleet.status().known
    assert [(Dependency.REDIS, operation, "timeout") for operation in ("renew_leases", "read_fleet")] == (
        lone.telemetry.failures
    )
    lone.fleet_store.away = None
    await lone.sweeper.look()
    assert lone.machines.fleet.status().known
    assert lone.fleet_store.busy(ONE) == 1


async def test_a_renewal_that_failed_is_made_again_soon(lone: Rig) -> None:
    """A store that is back and empty grants to others one renewal period later."""
    await hold(lone)
    async with lone.at_work():
        lone.fleet_store.away = "silenced"
        await after(RENEW_EVERY_S + 0.1)
        lone.fleet_store.away = None
        lone.fleet_store.lose()
        await after(RENEW_AGAIN_S)
        assert lone.fleet_store.busy(ONE) == 1


async def test_a_view_brings_counts_reports_and_waiters(lone: Rig) -> None:
    other = MemoryReplica(lone.fleet_store, "two")
    await hold(lone, other)
    other.join(desk_of(lone.machines.fleet).model, "waiter")
    await other.post([NodeReport(ONE, Look.ANSWERED, draining=True)])
    await lone.sweeper.look()
    state = lone.machines.fleet.state(ONE)
    assert state is not None
    assert (state.busy, state.draining, desk_of(lone.machines.fleet).elsewhere) == (1, True, 1)
    assert lone.telemetry.gauges[Gauge.NODE_SLOTS_BUSY, "mac-1"] == 1
    assert lone.telemetry.gauges[Gauge.QUEUE_WAITING, "homely"] == 1


async def test_how_right_forecasts_were_is_told_once_there_were_any(lone: Rig) -> None:
    await lone.sweeper.look()
    assert (Gauge.QUEUE_FORECAST_ERROR, "homely") not in lone.telemetry.gauges
    desk_of(lone.machines.fleet).calibration.take(1.5, 1.0)
    await lone.sweeper.look()
    assert lone.telemetry.gauges[Gauge.QUEUE_FORECAST_ERROR, "homely"] == 0.5


class CountedReads(MemoryReplica):
    """A replica that counts how often the board is read."""

    def __init__(self, rig: Rig) -> None:
        super().__init__(rig.fleet_store, "one")
        self.reads: list[int] = []

    async def read(self, nodes, models) -> BoardView:  # type: ignore[no-untyped-def]  # as its parent
        self.reads.append(len(nodes))
        return await super().read(nodes, models)


async def test_the_board_is_read_once_a_second_and_only_more_often_while_somebody_waits(lone: Rig) -> None:
    counted = CountedReads(lone)
    lone.sweeper._board = counted
    await hold(lone, MemoryReplica(lone.fleet_store, "two"))
    async with lone.at_work() as group:
        await after(10.5 * VIEW_EVERY_S)
        assert len(counted.reads) == 11
        counted.reads.clear()
        for _ in range(10):
            desk_of(lone.machines.fleet).holding.take(1.0)
        call = group.create_task(lone.handle(lone.call("homely")))
        await after(1)
        assert 1 / POLL_S - 2 <= len(counted.reads) <= 1 / POLL_S + 3
        call.cancel()
        await settle()
        counted.reads.clear()
        await after(10 * VIEW_EVERY_S)
        assert len(counted.reads) <= 11


async def waits(rig: Rig, group: asyncio.TaskGroup) -> asyncio.Task[Result]:
    """Let a call wait for the only slot, whose holding time is known to be short."""
    for _ in range(10):
        desk_of(rig.machines.fleet).holding.take(1.0)
    call = group.create_task(rig.handle(rig.call("homely")))
    await settle()
    assert rig.machines.queues.waiting == 1
    return call


async def test_a_slot_given_back_on_another_replica_wakes_who_waits_here(lone: Rig) -> None:
    other = MemoryReplica(lone.fleet_store, "two")
    grant = await other.take((SlotWish(ONE, 1),), lone.identities.lease())
    assert grant.lease is not None
    lone.says("mac-1", whole())
    async with lone.at_work() as group:
        await after(0.12)
        call = await waits(lone, group)
        await after(0.11)
        released_at = lone.clock.monotonic()
        other.release(grant.lease)
        assert isinstance(await call, Whole)
        assert lone.clock.monotonic() - released_at < POLL_S


async def test_a_poll_finds_a_slot_whose_lease_has_expired(lone: Rig) -> None:
    await hold(lone, MemoryReplica(lone.fleet_store, "dead"))
    lone.says("mac-1", whole())
    async with lone.at_work() as group:
        await after(LEASE_TTL_S - 0.52)
        call = await waits(lone, group)
        assert isinstance(await call, Whole)
        assert lone.telemetry.calls[0].queue_s == pytest.approx(0.52, abs=POLL_S)


async def test_news_that_were_cut_are_listened_to_again(lone: Rig) -> None:
    async with lone.at_work():
        await settle()
        lone.fleet_store.cut_news()
        await settle()
        assert not lone.fleet_store._listeners
        await after(1.5)
        assert len(lone.fleet_store._listeners) == 1


async def test_a_store_that_is_away_at_first_is_listened_to_later(lone: Rig) -> None:
    lone.fleet_store.away = "away"
    async with lone.at_work():
        await after(1.5)
        lone.fleet_store.away = None
        await after(1.5)
        assert len(lone.fleet_store._listeners) == 1


async def test_without_machines_nothing_is_read_until_there_are_some() -> None:
    rig = await replica_of(machines())
    counted = CountedReads(rig)
    rig.sweeper._board = counted
    async with rig.at_work():
        await after(5)
        assert (counted.reads, rig.fleet_store._listeners) == ([], {})
        rig.machines.fleet.sync(snapshot(ONE_NODE, 2))
        await after(2.5)
        assert counted.reads
        assert rig.fleet_store._listeners
