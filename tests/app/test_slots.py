"""Where slots are counted: in Redis where there is one, and without a doubt of what happens where it is away."""

import pytest

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.redis.keys import EPOCH
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.system.entropy import SystemEntropy
from ktms.app.failed import StartFailed
from ktms.app.slots import RedisAt, open_slots
from ktms.domain.access.secret import Secret
from ktms.domain.ids import LeaseId, NodeName
from ktms.ports.lease_store import LeaseStoreAway, SlotWish

WISHES = (SlotWish(NodeName("mac-1"), 1),)


def redis(url: str, *, ours: bool = False, timeout_s: float = 1.0) -> RedisAt:
    return RedisAt(Secret(url), timeout_s, ours=ours)


async def forget_epoch(url: str) -> None:
    async with RedisLink(url, timeout_s=1.0) as link:
        await link.ask(("DEL", EPOCH))


async def test_without_redis_slots_are_counted_in_this_process() -> None:
    async with open_slots(None, SystemEntropy(), MemoryTelemetry()) as slots:
        first = await slots.leases.take(WISHES, LeaseId("1"))
        second = await slots.leases.take(WISHES, LeaseId("2"))
    assert (first.lease is None, second.lease is None) == (False, True)


async def test_a_redis_of_our_own_grants_at_once(valkey_url: str) -> None:
    await forget_epoch(valkey_url)
    async with open_slots(redis(valkey_url, ours=True), SystemEntropy(), MemoryTelemetry()) as slots:
        grant = await slots.leases.take(WISHES, LeaseId("ours"))
        assert grant.lease is not None
        slots.leases.release(grant.lease)


async def test_another_empty_redis_may_have_forgotten_what_others_hold(valkey_url: str) -> None:
    await forget_epoch(valkey_url)
    async with open_slots(redis(valkey_url), SystemEntropy(), MemoryTelemetry()) as slots:
        with pytest.raises(LeaseStoreAway, match="unknown"):
            await slots.leases.take(WISHES, LeaseId("theirs"))


@pytest.mark.parametrize("ours", [False, True])
async def test_a_redis_that_never_answers_keeps_nobody_from_starting(silent_port: int, ours: bool) -> None:
    telemetry = MemoryTelemetry()
    at = redis(f"redis://127.0.0.1:{silent_port}/0", ours=ours, timeout_s=0.05)
    async with open_slots(at, SystemEntropy(), telemetry) as slots:
        with pytest.raises(LeaseStoreAway):
            await slots.leases.take(WISHES, LeaseId("1"))


async def test_a_kind_of_url_that_is_not_here_yet_is_told_in_one_line() -> None:
    with pytest.raises(StartFailed, match="KTMS_REDIS_URL"):
        async with open_slots(redis("redis+sentinel://127.0.0.1:26379/0"), SystemEntropy(), MemoryTelemetry()):
            pass


async def test_it_is_told_when_a_redis_is_left_alone(silent_port: int) -> None:
    at = redis(f"redis://127.0.0.1:{silent_port}/0", ours=True, timeout_s=0.05)
    async with open_slots(at, SystemEntropy(), MemoryTelemetry()) as slots:
        assert slots.silenced()


async def test_slots_of_this_process_are_never_left_alone() -> None:
    async with open_slots(None, SystemEntropy(), MemoryTelemetry()) as slots:
        assert not slots.silenced()
