import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.domain.capacity.selection import Selector
from ktms.domain.capacity.wait_forecast import HELD_BACK_MAX_S
from ktms.domain.catalogue import Selection
from ktms.domain.ids import ModelName, VendorModel
from ktms.engine.desk import Desk
from ktms.engine.waiting import Queues, Urgency, Waiter
from tests.engine.virtual_loop import after, settle

LIMIT_S = 2.0


def desk(name: str = "homely") -> Desk:
    return Desk(ModelName(name), VendorModel("m"), Selector(band=1.25, rule=Selection.WEIGHTED, spin=0))


@dataclass
class Room:
    """Queues of one replica, whose slots come free by hand: `free` of them may be had right now."""

    store: MemoryFleetStore = field(default_factory=lambda: MemoryFleetStore(LoopClock()))
    free: int = 0
    served: list[str] = field(default_factory=list)
    asking: int = 0
    asking_max: int = 0

    def __post_init__(self) -> None:
        self.queues = Queues(MemoryReplica(self.store, "one"))
        self.desk = desk()

    def can(self) -> bool:
        return self.free > 0

    async def wait(
        self,
        name: str,
        urgency: Urgency = Urgency.NORMAL,
        *,
        can: Callable[[], bool] | None = None,
        limit_s: float = LIMIT_S,
        asks_s: float = 0.0,
    ) -> bool:
        """Stand in line until a slot is had; asking for one takes `asks_s`."""
        waiter = Waiter(urgency, can or self.can)
        with self.queues.joined(self.desk, waiter, name):
            while await self.queues.turn(self.desk, waiter, limit_s):
                self.asking += 1
                self.asking_max = max(self.asking, self.asking_max)
                await after(asks_s)
                self.asking -= 1
                if self.free:
                    self.free -= 1
                    self.served.append(name)
                    return True
        return False

    def release(self, count: int = 1) -> None:
        self.free += count
        self.queues.pump(self.desk)

    def assert_empty(self) -> None:
        assert self.queues.waiting == 0
        assert self.queues.desks == ()
        assert self.desk.here == 0
        assert self.store.read([], [self.desk.model]).waiting == {self.desk.model: 0}


@pytest.fixture
async def room() -> Room:
    return Room()


async def test_who_came_first_is_served_first(room: Room) -> None:
    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(room.wait(name))
            await settle()
        for _ in range(3):
            room.release()
            await settle()
    assert room.served == ["a", "b", "c"]
    room.assert_empty()


async def test_the_more_urgent_go_first_and_each_class_in_its_order(room: Room) -> None:
    comers = [
        ("batch", Urgency.BATCH),
        ("normal-1", Urgency.NORMAL),
        ("screen-1", Urgency.INTERACTIVE),
        ("normal-2", Urgency.NORMAL),
        ("screen-2", Urgency.INTERACTIVE),
    ]
    async with asyncio.TaskGroup() as group:
        for name, urgency in comers:
            group.create_task(room.wait(name, urgency))
            await settle()
        room.release(5)
    assert room.served == ["screen-1", "screen-2", "normal-1", "normal-2", "batch"]


async def test_who_comes_now_has_only_the_as_urgent_ahead(room: Room) -> None:
    async with asyncio.TaskGroup() as group:
        for name, urgency in (("a", Urgency.INTERACTIVE), ("b", Urgency.NORMAL)):
            group.create_task(room.wait(name, urgency))
        await settle()
        assert [room.queues.ahead(room.desk, urgency) for urgency in Urgency] == [1, 2, 2]
        assert room.queues.ahead(desk("other"), Urgency.BATCH) == 0
        room.release(2)


async def test_only_who_can_use_what_came_free_is_woken(room: Room) -> None:
    fits = False
    async with asyncio.TaskGroup() as group:
        group.create_task(room.wait("large", can=lambda: fits and room.can()))
        await settle()
        group.create_task(room.wait("small"))
        await settle()
        room.release()
        await settle()
        assert room.served == ["small"]
        fits = True
        room.release()
    assert room.served == ["small", "large"]


async def test_one_asks_at_a_time(room: Room) -> None:
    async with asyncio.TaskGroup() as group:
        for name in "abcd":
            group.create_task(room.wait(name, asks_s=0.1))
        await settle()
        room.release(4)
        room.queues.pump_all()
    assert (room.asking_max, sorted(room.served)) == (1, list("abcd"))


async def test_who_asked_in_vain_keeps_its_place(room: Room) -> None:
    async with asyncio.TaskGroup() as group:
        for name in "ab":
            group.create_task(room.wait(name, asks_s=0.1))
            await settle()
        room.release()
        room.free = 0  # somebody else was faster
        await after(0.2)
        assert room.served == []
        room.release(2)
    assert room.served == ["a", "b"]


async def test_who_has_waited_long_enough_leaves(room: Room) -> None:
    began_at = asyncio.get_running_loop().time()
    assert not await room.wait("a", limit_s=0.25)
    assert asyncio.get_running_loop().time() - began_at == 0.25
    room.assert_empty()


async def test_a_slot_that_is_free_at_once_is_no_wait(room: Room) -> None:
    room.free = 1
    began_at = asyncio.get_running_loop().time()
    assert await room.wait("a")
    assert asyncio.get_running_loop().time() == began_at


@pytest.mark.parametrize("free", [0, 1])
async def test_who_is_cancelled_leaves_no_place_behind_and_holds_up_nobody(room: Room, free: int) -> None:
    """With a slot free it is cancelled while it asks for it."""
    async with asyncio.TaskGroup() as group:
        first = group.create_task(room.wait("a", asks_s=0.5))
        await settle()
        group.create_task(room.wait("b"))
        await settle()
        room.release(free)
        await settle()
        assert room.asking == free
        first.cancel()
        await settle()
        assert room.queues.waiting == 1 - free
        room.release()
    assert room.served == ["b"]
    room.assert_empty()


async def test_who_times_out_while_its_turn_comes_hands_it_on(room: Room) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(room.wait("a", limit_s=1.0))
        await settle()
        group.create_task(room.wait("b", limit_s=5.0))
        asyncio.get_running_loop().call_later(1.0, room.release)
    assert len(room.served) == 1
    room.assert_empty()


async def test_all_replicas_see_who_waits(room: Room) -> None:
    other = MemoryReplica(room.store, "two")
    async with asyncio.TaskGroup() as group:
        for name in "ab":
            group.create_task(room.wait(name))
        await settle()
        assert (await other.read([], [room.desk.model])).waiting == {room.desk.model: 2}
        assert room.desk.here == 2
        room.release(2)
    room.assert_empty()


async def test_the_one_who_polls_sleeps_while_nobody_waits(room: Room) -> None:
    async with asyncio.TaskGroup() as group:
        poll = group.create_task(room.queues.somebody_waits())
        await settle()
        assert not poll.done()
        group.create_task(room.wait("a"))
        await settle()
        assert poll.done()
        room.release()
        await settle()
        again = group.create_task(room.queues.somebody_waits())
        await settle()
        assert not again.done()
        again.cancel()


async def test_queues_of_models_do_not_mix(room: Room) -> None:
    room.free = 1
    other = Waiter(Urgency.NORMAL, lambda: False)
    with room.queues.joined(desk("other"), other, "x"):
        assert await room.wait("a")
        assert room.queues.waiting == 1
        room.queues.pump_all()


async def test_a_desk_that_nobody_waits_at_has_no_turns_to_give(room: Room) -> None:
    room.queues.pump(room.desk)
    room.assert_empty()


async def test_where_others_wait_elsewhere_a_slot_is_asked_for_a_moment_later(room: Room) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(room.wait("a"))
        await settle()
        room.desk.elsewhere = 1
        room.release()
        await settle()
        assert room.served == []
        await after(HELD_BACK_MAX_S)
    assert room.served == ["a"]
    room.assert_empty()


async def test_the_longer_somebody_has_waited_the_sooner_it_asks(room: Room) -> None:
    other = Room(store=room.store)
    room.desk.elsewhere = other.desk.elsewhere = 1
    async with asyncio.TaskGroup() as group:
        group.create_task(room.wait("old"))
        await after(LIMIT_S / 2)
        group.create_task(other.wait("young"))
        await settle()
        room.release()
        other.release()
        await after(HELD_BACK_MAX_S * 0.75)
        assert (room.served, other.served) == (["old"], [])


async def test_who_watches_the_screen_is_not_held_back(room: Room) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(room.wait("screen", Urgency.INTERACTIVE))
        await settle()
        room.desk.elsewhere = 1
        room.release()
        await settle()
        assert room.served == ["screen"]


async def test_who_leaves_while_held_back_leaves_no_timer_behind(room: Room) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(room.wait("a"))
        await settle()
        room.desk.elsewhere = 1
        room.release()
        waiting.cancel()
        await settle()
        room.assert_empty()
        await after(HELD_BACK_MAX_S)
    assert (room.served, room.free) == ([], 1)
