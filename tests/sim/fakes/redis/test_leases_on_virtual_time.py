"""Leases as worlds have them: our adapter over the simulated network, its times to the millisecond."""

import asyncio

import pytest

from ktms.adapters.redis.fleet import RedisFleet
from ktms.adapters.redis.link import RedisLink
from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import EPOCH_GRACE_S, LEASE_TTL_S, Grant, LeaseStoreAway, SlotWish
from tests.sim.fakes.redis.lab import URL, Lab

MAC = NodeName("mac-1")


async def take(fleet: RedisFleet, lease_id: str, slots: int = 1) -> Grant:
    return await fleet.take([SlotWish(MAC, slots)], LeaseId(lease_id))


async def kind(fleet: RedisFleet, lease_id: str) -> str:
    try:
        grant = await take(fleet, lease_id)
    except LeaseStoreAway as away:
        return away.kind
    return "full" if grant.lease is None else "granted"


def test_a_lease_ends_when_its_time_is_over_and_not_before() -> None:
    async def work(lab: Lab) -> None:
        async with RedisLink(URL) as link:
            fleet = RedisFleet(link, grace_s=0)
            await take(fleet, "a")
            await asyncio.sleep(LEASE_TTL_S - 0.1)
            assert await kind(RedisFleet(link, grace_s=0), "b") == "full"
            await asyncio.sleep(0.1)
            assert await kind(RedisFleet(link, grace_s=0), "b") == "granted"

    Lab().run(work)


def test_a_server_found_empty_knows_nothing_for_its_grace_and_no_longer() -> None:
    async def work(lab: Lab) -> None:
        async with RedisLink(URL) as link:
            fleet = RedisFleet(link)
            assert await kind(fleet, "a") == "unknown"
            await asyncio.sleep(EPOCH_GRACE_S - 0.1)
            assert await kind(fleet, "a") == "unknown"
            await asyncio.sleep(0.1)
            assert await kind(fleet, "a") == "granted"
            lab.redis.restart_empty()
            await asyncio.sleep(0.1)
            assert await kind(fleet, "b") in {"away", "unknown"}
            assert [lease.id for lease in (await fleet.renew()).regained] == ["a"]

    Lab().run(work)


def test_a_server_that_hangs_for_a_minute_costs_at_most_three_calls_a_timeout() -> None:
    async def work(lab: Lab) -> None:
        async with RedisLink(URL) as link:
            fleet = RedisFleet(link, grace_s=0)
            await take(fleet, "first", slots=9)
            lab.redis.mode("redis_hung", on=True)
            waits = []
            for number in range(600):
                began_at = lab.loop.time()
                assert await kind(fleet, f"lease-{number}") in {"timeout", "silenced"}
                waits.append(lab.loop.time() - began_at)
                await asyncio.sleep(0.1)
            paid = [wait for wait in waits if wait]
            assert 1 <= len(paid) <= 3
            assert paid == pytest.approx([0.1] * len(paid))

    Lab().run(work)


@pytest.mark.parametrize("fault", ["redis_hung", "redis_away"])
@pytest.mark.parametrize("lasts_s", [0.3, 1.0, 2.05, 7.7])
def test_a_server_that_is_back_is_used_again_within_three_seconds(fault: str, lasts_s: float) -> None:
    async def work(lab: Lab) -> None:
        async with RedisLink(URL) as link:
            fleet = RedisFleet(link, grace_s=0)
            await take(fleet, "first")
            lab.redis.mode(fault, on=True)
            lab.loop.call_later(lasts_s, lambda: lab.redis.mode(fault, on=False))
            back_at = lab.loop.time() + lasts_s
            number = 0
            while await kind(fleet, f"lease-{number}") not in {"granted", "full"}:
                number += 1
                await asyncio.sleep(0.05)
            assert lab.loop.time() - back_at < 3
            renewed = await fleet.renew()
            assert renewed.kept == 1

    Lab().run(work)


def test_a_release_said_while_the_server_hangs_frees_the_slot_when_it_is_back() -> None:
    async def work(lab: Lab) -> None:
        async with RedisLink(URL) as link:
            fleet = RedisFleet(link, grace_s=0)
            lease = (await take(fleet, "a")).lease
            assert lease is not None
            lab.redis.mode("redis_hung", on=True)
            fleet.release(lease)
            await asyncio.sleep(5)
            lab.redis.mode("redis_hung", on=False)
            await asyncio.sleep(3)
            assert await kind(fleet, "b") == "granted"

    Lab().run(work)


def test_the_same_seed_gives_the_same_trace_with_leases() -> None:
    async def work(lab: Lab) -> None:
        async with RedisLink(URL) as link:
            fleet = RedisFleet(link, grace_s=0)
            await asyncio.gather(*(take(fleet, f"lease-{number}", slots=5) for number in range(20)))
            await fleet.renew()

    first, again = Lab().run(work), Lab().run(work)
    assert first.trace.digest() == again.trace.digest()
