"""How what is counted fails where there are no bytes: as leases do, over the same way to the same store."""

import asyncio

import pytest

from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account, Refusal
from ktms.domain.ids import LeaseId, NodeName, RequestId
from ktms.ports.lease_store import LeaseStoreAway, SlotWish
from ktms.ports.quota_store import Answer, QuotaStoreAway, Reserved, Wish
from sim.fakes.fleet_line import FleetLine
from sim.fakes.quota_line import QuotaLine
from sim.fakes.shared_store import SharedStore
from tests.sim.fakes.virtual import run

ACCOUNT = Account("key:app", Limits(concurrent=1))


class Room:
    """A store with two replicas."""

    def __init__(self) -> None:
        self.shared = SharedStore(MemoryFleetStore())
        self.mine, self.other = QuotaLine(self.shared, "gw1#1"), QuotaLine(self.shared, "gw2#1")
        self.slots = FleetLine(self.shared, "gw1#1")

    async def reserve(self, name: str = "a") -> Answer:
        return await self.mine.reserve(wish(name))

    async def fails(self, name: str = "a") -> tuple[str, float]:
        """Say how a reservation fails, and after how long."""
        began_at = asyncio.get_running_loop().time()
        with pytest.raises(QuotaStoreAway) as away:
            await self.reserve(name)
        return away.value.kind, round(asyncio.get_running_loop().time() - began_at, 3)

    @property
    def running(self) -> int:
        return self.shared.quotas.counters(ACCOUNT.id).running


def wish(name: str) -> Wish:
    return Wish(RequestId(name), (ACCOUNT,), 0, 0)


def test_two_replicas_count_together() -> None:
    async def work() -> None:
        room = Room()
        assert isinstance(await room.reserve(), Reserved)
        assert isinstance(await room.other.reserve(wish("b")), Refusal)
        room.mine.settle(wish("a"), 0, 0)
        assert isinstance(await room.other.reserve(wish("b")), Reserved)

    run(work)


def test_one_that_is_away_says_so_at_once() -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode("redis_away", on=True)
        assert await room.fails() == ("away", 0.0)
        room.shared.mode("redis_away", on=False)
        assert isinstance(await room.reserve(), Reserved)

    run(work)


def test_failures_of_leases_and_of_limits_count_together() -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode("redis_hung", on=True)
        for number in range(2):
            with pytest.raises(LeaseStoreAway):
                await room.slots.take((SlotWish(NodeName("mac-1"), 1),), LeaseId(str(number)))
        assert [await room.fails() for _ in range(2)] == [("timeout", 0.1), ("silenced", 0.0)]

    run(work)


@pytest.mark.parametrize("kind", ["redis_hung", "redis_slow"])
def test_what_nobody_was_told_of_is_given_back(kind: str) -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode(kind, 2.0, on=True)
        assert await room.fails() == ("timeout", 0.1)
        room.shared.mode(kind, 2.0, on=False)
        assert isinstance(await room.reserve("b"), Reserved)
        assert room.running == 1

    run(work)


def test_what_is_settled_while_it_is_away_is_told_when_it_is_back() -> None:
    async def work() -> None:
        room = Room()
        await room.reserve()
        room.shared.mode("redis_away", on=True)
        for _ in range(3):
            await room.fails("b")
        room.mine.settle(wish("a"), 0, 0)
        assert room.running == 1
        room.shared.mode("redis_away", on=False)
        await asyncio.sleep(2.0)
        await room.mine.beat()
        assert room.running == 0

    run(work)


def test_an_empty_one_is_told_of_what_is_under_way() -> None:
    async def work() -> None:
        room = Room()
        await room.reserve()
        room.shared.mode("redis_empty", on=True)
        assert room.running == 0
        await room.mine.beat()
        assert room.running == 1

    run(work)


def test_who_never_reserved_anything_asks_nobody() -> None:
    async def work() -> None:
        room = Room()
        room.shared.mode("redis_away", on=True)
        await room.mine.beat()
        assert await room.mine.reserve(Wish(RequestId("a"), (), 0, 0)) == Reserved(())

    run(work)
