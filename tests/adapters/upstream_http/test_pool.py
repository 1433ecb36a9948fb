"""The pool alone, over connections whose transports are made of nothing."""

import asyncio

import pytest

from ktms.adapters.upstream_http.connection import Connection
from ktms.adapters.upstream_http.pool import Pool, Slot
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.routing.outcome import FailureKind
from ktms.ports.upstream import UpstreamFailed
from tests.adapters.upstream_http.paper import PaperTransport, get, lane, open_connection, small, turns
from tests.adapters.upstream_http.scripted import passed, until


async def test_the_newest_idle_connection_is_used_first() -> None:
    pool = small(9, 9)
    first, second = await get(pool), await get(pool)
    pool.park(first)
    pool.park(second)
    assert await get(pool) is second
    assert await get(pool) is first


async def test_lanes_do_not_share() -> None:
    pool = small(9, 9)
    first = await get(pool, 1)
    pool.park(first)
    assert await get(pool, 2) is not first


async def test_idle_connections_of_a_lane_are_bounded() -> None:
    pool = small(9, 9, idle=2)
    connections = [await get(pool) for _ in range(5)]
    for connection in connections:
        pool.park(connection)
    await turns()
    assert (pool.idle_total, pool.open_total) == (2, 2)


async def test_a_dead_idle_connection_is_not_given_out() -> None:
    pool = small(9, 9)
    dead = await get(pool)
    pool.park(dead)
    dead.abort()
    assert await get(pool) is not dead
    await turns()
    assert pool.open_total == 1


async def test_waiters_are_served_in_their_order() -> None:
    pool = small(1, 1)
    held = await get(pool)
    served: list[int] = []

    async def wait(number: int) -> None:
        connection = await get(pool)
        served.append(number)
        await turns(2)
        pool.park(connection)

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(wait(number))
        await turns()
        pool.park(held)
    assert served == [0, 1, 2, 3, 4]


async def test_a_lost_connection_gives_its_slot_to_the_next_waiter() -> None:
    pool = small(1, 1)
    held = await get(pool)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(get(pool))
        await turns()
        held.abort()
    assert waiting.result() is not held
    assert pool.open_total == 1


async def test_a_failed_dial_gives_its_slot_to_the_next_waiter() -> None:
    pool = small(1, 1)
    at = asyncio.get_running_loop().time() + 5
    slot = await pool.acquire(lane(), at=at, late=FailureKind.POOL_TIMEOUT, fresh=False)
    assert isinstance(slot, Slot)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(get(pool))
        await turns()
        pool.give_back(slot)
    assert pool.open_total == 1
    waiting.result().abort()
    await turns()
    assert pool.open_total == 0


async def test_a_waiter_cancelled_with_the_grant_in_hand_returns_it() -> None:
    for give in ("connection", "slot"):
        pool = small(1, 1)
        held = await get(pool)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(get(pool))
            await turns()
            if give == "connection":
                pool.park(held)
            else:
                held.abort()
                await asyncio.sleep(0)  # the slot is granted in this turn, taken in the next
            waiting.cancel()
        await turns()
        assert pool.open_total == pool.idle_total
        assert (await get(pool)).usable


async def test_waiting_too_long_fails_with_the_kind_asked_for() -> None:
    pool = small(1, 1)
    held = await get(pool)
    with pytest.raises(UpstreamFailed) as failed:
        await get(pool, within_s=0.01)
    assert failed.value.kind is FailureKind.POOL_TIMEOUT
    pool.park(held)
    assert await get(pool) is held


async def test_one_who_insists_on_a_fresh_connection_gets_one_first() -> None:
    pool = small(2, 2)
    held = [await get(pool), await get(pool)]
    got: list[str] = []

    async def wait(name: str, *, fresh: bool) -> None:
        connection = await get(pool, fresh=fresh)
        assert (connection in held) is not fresh
        got.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(wait("usual", fresh=False))
        await turns()
        group.create_task(wait("fresh", fresh=True))
        await turns()
        pool.park(held[0])
        await turns()
        assert got == ["fresh"]
        pool.park(held[1])
    assert got == ["fresh", "usual"]
    assert pool.open_total == 2


async def test_a_fresh_connection_takes_the_place_of_an_idle_one() -> None:
    pool = small(1, 1)
    idle = await get(pool)
    pool.park(idle)
    fresh = await get(pool, fresh=True)
    assert fresh is not idle
    assert (pool.open_total, pool.idle_total) == (1, 0)


async def test_only_one_connection_is_closed_for_one_who_insists() -> None:
    pool = small(4, 4)
    held = [await get(pool) for _ in range(4)]
    async with asyncio.TaskGroup() as group:
        group.create_task(get(pool, fresh=True))
        await turns()
        for connection in held:
            pool.park(connection)
    assert pool.idle_total == 3


async def test_an_idle_connection_anywhere_makes_room() -> None:
    pool = small(2, 2)
    first, second = await get(pool, 1), await get(pool, 2)
    pool.park(first)
    third = await get(pool, 3)
    assert not first.usable
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(get(pool, 4))
        await turns()
        pool.park(second)
    assert not second.usable
    assert waiting.result().usable
    assert third.usable


async def test_lanes_take_turns_when_all_connections_are_taken() -> None:
    pool = small(2, 2)
    held = [await get(pool, 9), await get(pool, 9)]
    served: list[int] = []

    async def wait(number: int) -> None:
        connection = await get(pool, number)
        served.append(number)
        await turns(2)
        connection.abort()

    async with asyncio.TaskGroup() as group:
        for number in (1, 1, 1, 2, 3):
            group.create_task(wait(number))
        await turns()
        held[0].abort()
    assert served == [1, 2, 3, 1, 1]


async def test_a_connection_lost_before_it_was_adopted_frees_its_slot() -> None:
    pool = small(1, 1)
    at = asyncio.get_running_loop().time() + 5
    slot = await pool.acquire(lane(), at=at, late=FailureKind.POOL_TIMEOUT, fresh=False)
    assert isinstance(slot, Slot)
    connection = Connection(asyncio.get_running_loop(), pool.lost)
    connection.connection_made(PaperTransport(connection))
    connection.abort()
    await turns()
    assert pool.open_total == 1, "the slot is still the dialler's"
    pool.adopt(slot, connection)
    assert pool.open_total == 0


async def test_idle_connections_are_closed_at_their_age_not_before() -> None:
    pool = Pool(UpstreamSettings(idle_age_s=0.05))
    first, second = await get(pool, 1), await get(pool, 2)
    pool.park(first)
    await passed(0.03)
    pool.park(second)
    await until(lambda: not first.usable)
    assert second.usable
    await until(lambda: not second.usable)
    await turns()
    assert pool.open_total == 0


async def test_close_drops_a_connection_that_was_being_dialled() -> None:
    pool = small(1, 1)
    at = asyncio.get_running_loop().time() + 5
    slot = await pool.acquire(lane(), at=at, late=FailureKind.POOL_TIMEOUT, fresh=False)
    assert isinstance(slot, Slot)
    await pool.close()
    connection = open_connection(pool, slot)
    await turns()
    assert not connection.usable
    assert pool.open_total == 0


async def test_what_is_parked_after_close_is_closed() -> None:
    pool = small(1, 1)
    held = await get(pool)
    async with asyncio.TaskGroup() as group:
        group.create_task(pool.close())
        await asyncio.sleep(0)
        pool.park(held)
    assert (pool.open_total, pool.idle_total) == (0, 0)


async def test_nothing_is_remembered_of_origins_that_are_gone() -> None:
    pool = small(9, 9)
    for number in range(100):
        connection = await get(pool, number)
        pool.park(connection)
        connection.abort()
        await turns()
    assert not pool._lanes
    assert not pool._waiting
    assert not pool._adopted
