"""What is peculiar to Redis; what every store does is in tests/contracts."""

import asyncio

import pytest
from redis.asyncio import Redis

from ktms.adapters.redis import link as link_module
from ktms.adapters.redis.fleet import RedisFleet
from ktms.adapters.redis.fleet_board import RedisFleetBoard
from ktms.adapters.redis.keys import EPOCH
from ktms.adapters.redis.link import RedisLink
from ktms.domain.ids import LeaseId, ModelName, NodeName
from ktms.ports.lease_store import Grant, Lease, LeaseStoreAway, SlotWish
from tests.adapters.redis.stand_in import PATIENT_S, StandIn, until

MAC, LINUX = NodeName("mac-1"), NodeName("linux-1")
SMALL = ModelName("small")
SHORT_S = 0.05


async def opened(link: RedisLink) -> RedisFleet:
    fleet = RedisFleet(link)
    await fleet.open()
    return fleet


async def take(fleet: RedisFleet, lease_id: str, *nodes: NodeName, slots: int = 1) -> Grant:
    return await fleet.take([SlotWish(node, slots) for node in nodes or (MAC,)], LeaseId(lease_id))


async def test_a_take_is_one_round_trip_and_carries_the_releases_before_it(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        fleet = await opened(link)
        lease = (await take(fleet, "a")).lease
        before = stand_in.pieces
        for number in range(20):
            assert lease is not None
            fleet.release(lease)
            lease = (await take(fleet, f"b-{number}", MAC, LINUX)).lease
        assert stand_in.pieces - before == 20


async def test_a_renewal_is_one_round_trip_however_much_is_held(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        fleet = await opened(link)
        await asyncio.gather(*(take(fleet, f"lease-{number}", slots=2) for number in range(2)))
        for number in range(20):
            fleet.join(SMALL, f"waiter-{number}")
        await fleet.renew()
        before = stand_in.pieces
        assert (await fleet.renew()).kept == 2
        assert stand_in.pieces - before == 1


async def test_who_holds_nothing_does_not_ask_redis_to_renew_it(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        assert (await RedisFleet(link).renew()).kept == 0
        assert stand_in.connected == 0


async def test_a_take_that_a_hung_server_does_not_answer_is_away_within_the_timeout(silent_port: int) -> None:
    loop = asyncio.get_running_loop()
    async with RedisLink(f"redis://127.0.0.1:{silent_port}", timeout_s=0.1) as link:
        began_at = loop.time()
        with pytest.raises(LeaseStoreAway) as away:
            await take(RedisFleet(link), "a")
        assert away.value.kind == "timeout"
        assert loop.time() - began_at < 0.1 + 0.5


async def test_a_take_whose_answer_was_lost_leaves_nothing_behind(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=SHORT_S) as link:
        fleet = await opened(link)
        await take(fleet, "a", LINUX)
        stand_in.mute = True
        with pytest.raises(LeaseStoreAway, match="timeout"):
            await take(fleet, "b", LINUX, MAC)
        assert (stand_in.busy(LINUX), stand_in.busy(MAC)) == (1, 1)
        stand_in.mute = False
        await until(lambda: stand_in.busy(MAC) == 0)
        assert stand_in.busy(LINUX) == 1
        assert (await fleet.renew()).kept == 1


async def test_a_take_is_repeated_after_its_answer_was_lost_and_stays(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=SHORT_S) as link:
        fleet = await opened(link)
        stand_in.mute = True
        with pytest.raises(LeaseStoreAway, match="timeout"):
            await take(fleet, "a")
        stand_in.mute = False
        stand_in.forget_scripts()
        async with asyncio.timeout(PATIENT_S):
            grant = None
            while grant is None:
                grant = await taken(fleet, "a")
        assert grant.lease == Lease(LeaseId("a"), MAC)
        assert (await fleet.renew()).kept == 1
        assert stand_in.busy(MAC) == 1


async def taken(fleet: RedisFleet, lease_id: str) -> Grant | None:
    try:
        return await take(fleet, lease_id)
    except LeaseStoreAway:
        return None


@pytest.mark.parametrize("steps", range(12))
async def test_a_take_cancelled_at_any_step_leaves_nothing_behind(stand_in: StandIn, steps: int) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        fleet = await opened(link)
        await take(fleet, "first", LINUX)
        async with asyncio.TaskGroup() as group:
            taking = group.create_task(take(fleet, "a", LINUX, MAC))
            for _ in range(steps):
                await asyncio.sleep(0)
            late = taking.done()
            taking.cancel()
        assert taking.cancelled() or late
        other = await take(fleet, "b", LINUX)
        assert other.lease is None
        kept = 0 if taking.cancelled() else 1
        await until(lambda: stand_in.busy(MAC) == kept)
        assert (await fleet.renew()).kept == 1 + kept


async def test_others_in_the_same_pipeline_get_theirs_when_one_is_cancelled(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link, asyncio.TaskGroup() as group:
        fleet = await opened(link)
        before = stand_in.pieces
        taking = [group.create_task(take(fleet, f"lease-{number}", slots=10)) for number in range(10)]
        await until(lambda: stand_in.pieces > before)
        taking[3].cancel()
        await asyncio.wait(taking)
        assert sum(not task.cancelled() and task.result().lease is not None for task in taking) == 9
        await until(lambda: stand_in.busy(MAC) == 9)


async def test_a_release_waits_for_nobody_and_is_said_when_redis_is_back(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S, silence_s=SHORT_S) as link:
        fleet = await opened(link)
        lease = (await take(fleet, "a")).lease
        assert lease is not None
        stand_in.redis.mode("redis_away", on=True)
        fleet.release(lease)
        await until(lambda: link.silenced)
        stand_in.redis.mode("redis_away", on=False)
        await until(lambda: stand_in.busy(MAC) == 0)


async def test_a_renewal_that_fails_keeps_what_it_holds(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=SHORT_S, silence_s=SHORT_S) as link:
        fleet = await opened(link)
        await take(fleet, "a")
        stand_in.mute = True
        with pytest.raises(LeaseStoreAway):
            await fleet.renew()
        stand_in.mute = False
        assert (await fleet.renew()).kept == 1


async def test_waiters_that_do_not_fit_now_are_counted_by_the_next_renewal(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        fleet = await opened(link)
        monkeypatch.setattr(link_module, "QUEUE_MAX", 0)
        fleet.join(SMALL, "a")
        monkeypatch.undo()
        await fleet.renew()
        assert stand_in.redis.state.data.sets.count(b"{ktms:fleet}:waiters:small") == 1


async def test_a_server_whose_clock_was_ahead_begins_its_time_anew(valkey_url: str) -> None:
    async with (
        Redis.from_url(valkey_url) as client,
        RedisLink(valkey_url, timeout_s=PATIENT_S) as link,
    ):
        await client.set(EPOCH, 4_000_000_000_000)
        with pytest.raises(LeaseStoreAway, match="unknown"):
            await take(RedisFleet(link), "a")
        assert int(await client.get(EPOCH) or 0) < 4_000_000_000_000
        assert (await take(RedisFleet(link, grace_s=0), "a")).lease is not None


@pytest.mark.parametrize("garbage", ["soon", "", "nan", "inf", "1e9", "0x10", "12 34"])
async def test_a_beginning_that_is_no_time_is_none(valkey_url: str, garbage: str) -> None:
    async with (
        Redis.from_url(valkey_url) as client,
        RedisLink(valkey_url, timeout_s=PATIENT_S) as link,
    ):
        await client.set(EPOCH, garbage)
        with pytest.raises(LeaseStoreAway, match="unknown"):
            await take(RedisFleet(link), "a")
        assert int(await client.get(EPOCH) or 0) > 0
        assert (await take(RedisFleet(link, grace_s=0), "a")).lease is not None


async def test_a_beginning_of_another_type_is_none(valkey_url: str) -> None:
    async with (
        Redis.from_url(valkey_url) as client,
        RedisLink(valkey_url, timeout_s=PATIENT_S) as link,
    ):
        await client.rpush(EPOCH, "a")
        await RedisFleetBoard(link, "one").read([MAC], [])
        with pytest.raises(LeaseStoreAway, match="unknown"):
            await take(RedisFleet(link), "a")
        assert (await take(RedisFleet(link, grace_s=0), "a")).lease is not None


async def test_scripts_that_a_real_server_has_lost_are_loaded_once(valkey_url: str) -> None:
    async with Redis.from_url(valkey_url) as client, RedisLink(valkey_url, timeout_s=PATIENT_S) as link:
        fleet = await opened(link)
        first = (await take(fleet, "a")).lease
        assert first is not None
        await client.script_flush()
        fleet.release(first)
        assert (await take(fleet, "b")).lease is not None


async def test_keys_are_gone_when_nothing_is_held(valkey_url: str) -> None:
    async with Redis.from_url(valkey_url) as client, RedisLink(valkey_url, timeout_s=PATIENT_S) as link:
        fleet = await opened(link)
        fleet.join(SMALL, "w")
        lease = (await take(fleet, "a")).lease
        assert lease is not None
        fleet.release(lease)
        fleet.leave(SMALL, "w")
        await take(fleet, "b", slots=0)
        assert await client.keys() == [EPOCH.encode()]


async def test_an_answer_that_came_while_we_stood_still_is_no_timeout(valkey_url: str) -> None:
    loop = asyncio.get_running_loop()
    async with RedisLink(valkey_url, timeout_s=0.2) as link, asyncio.TaskGroup() as group:
        fleet = await opened(link)
        await take(fleet, "a", LINUX)
        taking = group.create_task(take(fleet, "b"))
        for _ in range(3):
            await asyncio.sleep(0)  # until it is sent
        ends_at = loop.time() + 0.5
        while loop.time() < ends_at:
            pass
        assert (await taking).lease is not None
