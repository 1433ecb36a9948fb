"""What is peculiar to Redis; what every store does is in tests/contracts."""

import asyncio

import pytest
from redis.asyncio import Redis

from ktms.adapters.redis.keys import BEATS, account_key, held_by, swept_of
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.quota import RedisQuotaStore
from ktms.adapters.redis.quota_words import unpack_counters
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account, Refusal
from ktms.domain.access.quota_counters import Counters
from ktms.domain.ids import RequestId
from ktms.ports.quota_store import QuotaStoreAway, Reserved, Wish
from tests.adapters.redis.stand_in import PATIENT_S, StandIn, until

KEY, TEAM = Account("key:a", Limits(concurrent=50, rpm=6000)), Account("tenant:t", Limits(tpm=10**9))
SHORT_S = 0.05
FORTY_DAYS_S = 40 * 86_400


def wish(name: str, *accounts: Account) -> Wish:
    return Wish(RequestId(name), accounts or (KEY, TEAM), 100, 10)


async def have(store: RedisQuotaStore, name: str) -> Wish:
    wanted = wish(name)
    assert isinstance(await store.reserve(wanted), Reserved)
    return wanted


def counted(stand_in: StandIn, account: Account = KEY) -> Counters:
    packed = stand_in.redis.state.data.get(account_key(account.id).encode())
    return Counters() if packed is None else unpack_counters(packed)


def held(stand_in: StandIn, holder: str = "gw1") -> int:
    return len(stand_in.redis.state.data.hashes.items(held_by(holder).encode()))


async def test_a_reservation_is_one_round_trip_and_carries_the_settlements_before_it(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        call = await have(store, "first")
        before = stand_in.pieces
        for number in range(20):
            store.settle(call, 10, 1)
            call = await have(store, f"call-{number}")
        assert stand_in.pieces - before == 20
        assert counted(stand_in).running == 1


async def test_who_reserves_nothing_does_not_ask_redis(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        assert await store.reserve(Wish(RequestId("free"), (), 100, 10)) == Reserved(())
        await store.beat()
        await store.raise_spent([])
        assert stand_in.connected == 0


async def test_a_beat_is_one_round_trip_however_many_calls_run(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        await asyncio.gather(*(have(store, f"call-{number}") for number in range(40)))
        await store.beat()
        before = stand_in.pieces
        await store.beat()
        assert stand_in.pieces - before == 1


async def test_many_calls_are_taken_up_again_a_hundred_at_a_time(stand_in: StandIn) -> None:
    wide = Account("key:a", Limits(concurrent=1000))
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        for number in range(250):
            await store.reserve(wish(f"call-{number}", wide))
        await store.beat()
        stand_in.redis.restart_empty()
        with pytest.raises(QuotaStoreAway):
            await store.beat()  # its connection was cut
        await store.beat()
        assert counted(stand_in).running == held(stand_in) == 250


async def test_a_redis_that_is_away_is_told_so_and_settlements_are_kept_for_it(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S, silence_s=SHORT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        call = await have(store, "a")
        stand_in.redis.mode("redis_away", on=True)
        store.settle(call, 50, 7)
        for _ in range(3):
            with pytest.raises(QuotaStoreAway):
                await store.reserve(wish("b"))
        with pytest.raises(QuotaStoreAway) as away:
            await store.beat()
        assert away.value.kind in {"away", "silenced"}
        stand_in.redis.mode("redis_away", on=False)
        await until(lambda: held(stand_in) == 0)
        assert (counted(stand_in).running, counted(stand_in).day_settled) == (0, 7)


async def test_a_refusal_of_the_server_is_an_error_and_no_refusal_of_a_limit(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        stand_in.refusal = b"-ERR no"
        with pytest.raises(QuotaStoreAway) as away:
            await store.reserve(wish("a"))
        assert away.value.kind == "error"
        assert "a" not in str(away.value).split()


async def test_a_reservation_whose_answer_was_lost_leaves_nothing_behind(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=SHORT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        await have(store, "first")
        stand_in.mute = True
        with pytest.raises(QuotaStoreAway) as away:
            await store.reserve(wish("a"))
        assert away.value.kind == "timeout"
        assert held(stand_in) == 2
        stand_in.mute = False
        await until(lambda: held(stand_in) == 1)
        assert counted(stand_in).running == 1


@pytest.mark.parametrize("steps", range(12))
async def test_a_reservation_cancelled_at_any_step_leaves_nothing_behind(stand_in: StandIn, steps: int) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        await have(store, "first")
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(store.reserve(wish("a")))
            for _ in range(steps):
                await asyncio.sleep(0)
            late = asking.done()
            asking.cancel()
        assert asking.cancelled() or late
        await have(store, "next")
        kept = 2 if asking.cancelled() else 3
        await until(lambda: held(stand_in) == kept)
        assert counted(stand_in).running == kept


async def test_what_redis_has_and_nobody_here_knows_is_given_back_with_the_second_beat(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        await have(store, "known")
        call = await have(store, "forgotten")
        del store._held[call.id]
        await store.beat()
        assert held(stand_in) == 2
        await store.beat()
        assert (held(stand_in), counted(stand_in).running, counted(stand_in, TEAM).day_reserved) == (1, 1, 10)


async def test_what_is_asked_right_now_is_not_taken_for_unknown(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        await have(store, "a")
        answers = await asyncio.gather(
            *(store.reserve(wish(f"call-{number}")) for number in range(9)), store.beat(), store.beat()
        )
        await store.beat()
        assert len(answers) == 11
        assert counted(stand_in).running == 10


async def test_scripts_that_were_lost_are_loaded_again(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        store = RedisQuotaStore(link, "gw1")
        call = await have(store, "a")
        stand_in.forget_scripts()
        store.settle(call, 10, 5)
        await have(store, "b")
        assert (counted(stand_in).running, counted(stand_in).day_settled) == (1, 5)


@pytest.mark.service
async def test_an_account_lives_for_forty_days_after_its_last_use_and_keys_share_one_slot(valkey_url: str) -> None:
    async with RedisLink(valkey_url, timeout_s=PATIENT_S) as link, Redis.from_url(valkey_url) as client:
        store = RedisQuotaStore(link, "gw1", ttl_s=SHORT_S)
        call = await have(store, "a")
        store.settle(call, 10, 5)
        await have(store, "b")
        assert FORTY_DAYS_S - 60 < await client.ttl(account_key("key:a")) <= FORTY_DAYS_S
        assert await client.exists(held_by("gw1"), BEATS) == 2
        other = RedisQuotaStore(link, "gw2", ttl_s=PATIENT_S)
        while await client.exists(swept_of("gw1")) == 0:
            await other.reserve(wish("looks", Account("key:b", Limits(rpm=10**9))))
        assert 600 < await client.ttl(swept_of("gw1")) <= 660
        assert await client.exists(held_by("gw1")) == 0
        assert all(str(key).lstrip("b'").startswith("{ktms:fleet}:") for key in await client.keys())


@pytest.mark.service
@pytest.mark.parametrize("garbage", [b"", b"garbage", b"g" * 200])
async def test_what_is_no_account_begins_anew_and_is_limited(valkey_url: str, garbage: bytes) -> None:
    account = Account("key:spoilt", Limits(rpm=3))
    async with Redis.from_url(valkey_url) as client, RedisLink(valkey_url, timeout_s=PATIENT_S) as link:
        store, key = RedisQuotaStore(link, "gw1"), account_key(account.id)
        held = await store.reserve(wish("before", account))
        assert isinstance(held, Reserved)
        await client.set(key, garbage)
        store.settle(wish("before", account), 1, 0)
        answers = [type(await store.reserve(wish(f"call-{number}", account))) for number in range(4)]
        assert answers == [Reserved, Reserved, Reserved, Refusal]
        kept = await client.get(key)
        assert isinstance(kept, bytes)
        assert len(kept) == 88
