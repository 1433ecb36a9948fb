"""How a store fails where there are no bytes: at once, after a timeout, or after it has done what it was asked."""

import asyncio

import pytest

from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import Grant, LeaseStoreAway, SlotWish
from sim.fakes.fleet_line import FleetLine
from sim.fakes.shared_store import SharedStore
from tests.sim.fakes.virtual import run

MAC = NodeName("mac-1")
WISH = SlotWish(MAC, 1)


class Room:
    """A store with two replicas."""

    def __init__(self) -> None:
        self.shared = SharedStore(MemoryFleetStore())
        self.mine, self.other = FleetLine(self.shared, "gw1#1"), FleetLine(self.shared, "gw2#1")

    async def take(self, name: str = "a") -> Grant:
        return await self.mine.take((WISH,), LeaseId(name))

    async def fails(self, name: str = "a") -> tuple[str, float]:
        """Say how a take fails, and after how long."""
        began_at = asyncio.get_running_loop().time()
        with pytest.raises(LeaseStoreAway) as away:
            await self.take(name)
        return away.value.kind, round(asyncio.get_running_loop().time() - began_at, 3)

    @property
    def busy(self) -> int:
        return self.shared.store.busy(MAC)


def test_two_replicas_see_one_store() -> None:
    async def work() -> None:
        room = Room()
        await room.take()
        assert (await room.other.take((WISH,), LeaseId("b"))).lease is None
        assert (await room.other.read((MAC,), ())).busy == {MAC: 1}

    run(work)


def test_one_that_is_away_says_so_at_once() -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode("redis_away", on=True)
        assert await room.fails() == ("away", 0.0)
        room.shared.mode("redis_away", on=False)
        assert (await room.take()).lease is not None

    run(work)


def test_after_three_failures_it_is_left_alone_for_two_seconds() -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode("redis_hung", on=True)
        assert [await room.fails() for _ in range(4)] == [("timeout", 0.1)] * 3 + [("silenced", 0.0)]
        await asyncio.sleep(2.0)
        assert await room.fails() == ("timeout", 0.1)
        assert await room.fails() == ("silenced", 0.0)

    run(work)


def test_one_asks_on_trial_and_the_others_do_not_wait() -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode("redis_hung", on=True)
        for _ in range(3):
            await room.fails()
        await asyncio.sleep(2.0)
        async with asyncio.TaskGroup() as group:
            first, second = group.create_task(room.fails("x")), group.create_task(room.fails("y"))
        assert (first.result(), second.result()) == (("timeout", 0.1), ("silenced", 0.0))

    run(work)


def test_what_it_was_asked_while_it_hung_is_given_back_when_it_goes_on() -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode("redis_hung", on=True)
        await room.fails()
        room.shared.mode("redis_hung", on=False)
        assert room.busy == 1
        await room.mine.read((MAC,), ())
        assert room.busy == 0

    run(work)


def test_a_slow_one_has_done_what_it_was_asked_and_it_is_given_back() -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode("redis_slow", 2.0, on=True)
        assert await room.fails() == ("timeout", 0.1)
        assert room.busy == 0
        room.shared.mode("redis_slow", 2.0, on=False)
        assert (await room.take()).lease is not None

    run(work)


def test_one_that_is_a_little_slow_only_takes_its_time() -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode("redis_slow", 0.05, on=True)
        began_at = asyncio.get_running_loop().time()
        await room.take()
        assert asyncio.get_running_loop().time() - began_at == pytest.approx(0.05)

    run(work)


def test_an_empty_one_knows_nothing_and_grants_nothing_for_a_while() -> None:
    async def work() -> None:
        room = Room()
        await room.take()
        room.shared.mode("redis_empty", on=True)
        assert (room.busy, await room.fails("b")) == (0, ("unknown", 0.0))
        assert [lease.id for lease in (await room.mine.renew()).regained] == ["a"]
        await asyncio.sleep(6.0)
        assert (await room.take("b")).lease is None

    run(work)


def test_a_release_that_nobody_took_is_owed() -> None:
    async def work() -> None:
        room = Room()
        lease = (await room.take()).lease
        assert lease is not None
        room.shared.mode("redis_away", on=True)
        for _ in range(3):
            await room.fails("b")
        room.mine.release(lease)
        room.shared.mode("redis_away", on=False)
        await asyncio.sleep(2.0)
        await room.mine.read((MAC,), ())
        assert room.busy == 0

    run(work)


def test_news_end_when_it_is_away() -> None:
    async def work() -> None:
        room = Room()
        async with asyncio.TaskGroup() as group:
            task = group.create_task(_all_news(room))
            await asyncio.sleep(0)
            room.shared.mode("redis_away", on=True)
        assert task.result() == "away"

    run(work)


async def _all_news(room: Room) -> str:
    try:
        async for _ in room.mine.freed():
            pass
    except LeaseStoreAway as away:
        return away.kind
    return ""
