"""Contract of `ktms/ports/waiting_room.py`: one suite for every implementation."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ktms.domain.ids import NodeName
from ktms.ports.lease_store import LeaseStoreAway, SlotWish
from tests.contracts.fleet_stage import LARGE, LINUX, MAC, SMALL, Make, Replica, eventually

SHORT_S = 0.2


async def test_waiters_of_all_replicas_are_counted_per_model(fleet: Make) -> None:
    stage = await fleet()
    one, other = await stage.replica("gw1"), await stage.replica("gw2")
    one.room.join(SMALL, "a")
    one.room.join(LARGE, "b")
    other.room.join(SMALL, "c")
    assert await other.waiting(SMALL) >= 1  # what this replica said before it asked
    await eventually(stage, lambda: _counts(one, 2, 1))


async def test_who_leaves_is_counted_no_more_and_twice_is_harmless(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    replica.room.join(SMALL, "a")
    replica.room.join(SMALL, "b")
    replica.room.leave(SMALL, "a")
    replica.room.leave(SMALL, "a")
    replica.room.leave(LARGE, "never joined")
    assert await replica.waiting(SMALL) == 1


async def test_who_joins_twice_is_counted_once(fleet: Make) -> None:
    replica = await (await fleet()).replica("gw1")
    replica.room.join(SMALL, "a")
    replica.room.join(SMALL, "a")
    assert await replica.waiting(SMALL) == 1


async def test_waiters_of_a_dead_replica_vanish_and_renewed_ones_stay(fleet: Make) -> None:
    stage = await fleet(ttl_s=SHORT_S)
    dead, living = await stage.replica("gw1"), await stage.replica("gw2")
    dead.room.join(SMALL, "a")
    living.room.join(LARGE, "b")

    async def only_one_is_left() -> bool:
        await living.leases.renew()
        return (await living.waiting(SMALL), await living.waiting(LARGE)) == (0, 1)

    await eventually(stage, only_one_is_left)


async def test_a_renewal_counts_again_whom_the_store_has_lost(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    replica.room.join(SMALL, "a")
    await stage.lose()
    await replica.leases.renew()
    assert await replica.waiting(SMALL) == 1


async def test_a_slot_given_back_by_any_replica_is_news(fleet: Make) -> None:
    stage = await fleet()
    one, other = await stage.replica("gw1"), await stage.replica("gw2")
    news = one.room.freed()
    async with asyncio.TaskGroup() as group:
        heard = group.create_task(_first(news))
        await eventually(stage, lambda: _tells(other, heard))
    assert heard.result() == MAC


async def test_an_engine_seen_idle_is_news_where_slots_were_draining(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    news = replica.room.freed()
    async with asyncio.TaskGroup() as group:
        heard = group.create_task(_first(news))

        async def drains() -> bool:
            grant = await replica.take("a", SlotWish(LINUX, 1))
            if grant.lease is not None:
                replica.leases.release(grant.lease, drain_s=600)
            await replica.board.drained([LINUX], await replica.board.moment())
            return heard.done()

        await eventually(stage, drains)
    assert heard.result() == LINUX


async def test_lost_news_are_told_and_can_be_heard_again(fleet: Make) -> None:
    stage = await fleet()
    replica = await stage.replica("gw1")
    news = replica.room.freed()
    async with asyncio.TaskGroup() as group:
        heard = group.create_task(_first(news))
        await eventually(stage, lambda: _tells(replica, heard))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_until_away(news))
        await asyncio.sleep(0)
        await stage.cut()
    assert waiting.done()
    again = replica.room.freed()
    async with asyncio.TaskGroup() as group:
        heard = group.create_task(_first(again))
        await eventually(stage, lambda: _tells_in_spite(replica, heard))


async def _counts(replica: Replica, small: int, large: int) -> bool:
    return (await replica.waiting(SMALL), await replica.waiting(LARGE)) == (small, large)


async def _first(news: AsyncIterator[NodeName]) -> NodeName:
    return await anext(news)


async def _until_away(news: AsyncIterator[NodeName]) -> None:
    with pytest.raises(LeaseStoreAway):
        await _all(news)


async def _all(news: AsyncIterator[NodeName]) -> list[NodeName]:
    return [node async for node in news]


async def _tells(replica: Replica, heard: "asyncio.Task[NodeName]") -> bool:
    """Take and give back until it was heard: when the listening begins is not ours to know."""
    grant = await replica.take("news", SlotWish(MAC, 1))
    if grant.lease is not None:
        replica.leases.release(grant.lease)
    return heard.done()


async def _tells_in_spite(replica: Replica, heard: "asyncio.Task[NodeName]") -> bool:
    """The same on a connection that may have been lost with the news."""
    try:
        return await _tells(replica, heard)
    except LeaseStoreAway:
        return False
