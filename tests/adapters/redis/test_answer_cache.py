import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from ktms.adapters.redis import answer_cache
from ktms.adapters.redis.answer_cache import UNDER_WAY_BYTES_MAX, RedisAnswerCache
from ktms.adapters.redis.link import RedisLink
from ktms.ports.answer_cache import CacheAway
from sim.fakes.redis.server import SimRedis
from tests.adapters.redis.stand_in import PATIENT_S

KEY = bytes(32)


@pytest.fixture
async def server() -> AsyncIterator[tuple[SimRedis, str]]:
    loop = asyncio.get_running_loop()
    made = SimRedis(now=loop.time)
    async with await loop.create_server(made.connection, "127.0.0.1", 0) as listening:
        yield made, f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}/0"
        made.mode("redis_away", on=True)  # a connection that is not read is closed by nobody else


async def test_what_would_not_be_there_in_time_is_not_sent(server: tuple[SimRedis, str]) -> None:
    redis, url = server
    redis.mode("redis_hung", on=True)
    async with RedisLink(url, timeout_s=0.1) as link:
        cache = RedisAnswerCache(link, link)
        megabyte = b"x" * 1024 * 1024
        for number in range(2 * UNDER_WAY_BYTES_MAX // len(megabyte)):
            cache.put(number.to_bytes(32, "big"), megabyte, 60)
        assert cache._under_way_bytes == UNDER_WAY_BYTES_MAX
        with pytest.raises(CacheAway):
            await cache.get(KEY)
        assert cache._under_way_bytes == 0


async def test_what_could_not_be_stored_is_forgotten(server: tuple[SimRedis, str]) -> None:
    redis, url = server
    redis.mode("redis_away", on=True)
    async with RedisLink(url, timeout_s=0.1, silence_s=0.05) as link:
        cache = RedisAnswerCache(link, link)
        cache.put(KEY, b"x", 60)
        with pytest.raises(CacheAway):
            await cache.get(KEY)
        redis.mode("redis_away", on=False)
        async with asyncio.timeout(PATIENT_S):
            while not await answers(cache):
                await link_pause()
        assert await cache.get(KEY) is None


async def link_pause() -> None:
    """Let the loop turn: the link tries again by its own timers."""
    await asyncio.sleep(0)


async def answers(cache: RedisAnswerCache) -> bool:
    try:
        await cache.get(KEY)
    except CacheAway:
        return False
    return True


async def test_a_link_that_has_ended_keeps_nothing_and_says_so(server: tuple[SimRedis, str]) -> None:
    async with RedisLink(server[1]) as link:
        cache = RedisAnswerCache(link, link)
    cache.put(KEY, b"x", 60)
    with pytest.raises(CacheAway):
        await cache.get(KEY)


async def test_a_redis_that_hangs_is_told_from_one_that_is_busy_with_large_values(
    server: tuple[SimRedis, str],
) -> None:
    redis, url = server
    loop = asyncio.get_running_loop()
    other = SimRedis(now=loop.time)
    async with await loop.create_server(other.connection, "127.0.0.1", 0) as listening:
        beside_url = f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}/0"
        async with RedisLink(url, timeout_s=0.3) as link, RedisLink(beside_url, timeout_s=0.3) as beside:
            cache = RedisAnswerCache(link, beside)
            assert await cache.get(KEY) is None
            redis.mode("redis_hung", on=True)
            assert await kind_of(cache) == "slow"
            other.mode("redis_hung", on=True)
            assert await kind_of(cache) == "timeout"
        other.mode("redis_away", on=True)


async def test_who_leaves_while_it_looks_leaves_nothing_behind(server: tuple[SimRedis, str]) -> None:
    redis, url = server
    async with RedisLink(url, timeout_s=0.2) as link:
        cache = RedisAnswerCache(link, link)
        assert await cache.get(KEY) is None
        redis.mode("redis_hung", on=True)
        for left_s in (0.02, 0.15):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(left_s):
                    await cache.get(KEY)
        assert await kind_of(cache) == "timeout"


async def test_a_connection_beside_that_is_lost_too_is_a_redis_that_hangs(server: tuple[SimRedis, str]) -> None:
    redis, url = server
    async with RedisLink(url, timeout_s=0.2) as link:
        async with RedisLink(url, timeout_s=0.2) as beside:
            cache = RedisAnswerCache(link, beside)
            assert await cache.get(KEY) is None
        redis.mode("redis_hung", on=True)
        assert await kind_of(cache) == "timeout"


async def kind_of(cache: RedisAnswerCache) -> str:
    with pytest.raises(CacheAway) as away:
        await cache.get(KEY)
    return away.value.kind


async def test_a_server_that_is_nearly_full_keeps_no_answers_and_has_room_for_limits(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_cache, "LOOK_EVERY_S", 0.0)
    async with Redis.from_url(valkey_url) as admin, RedisLink(valkey_url, timeout_s=PATIENT_S) as link:
        cache = RedisAnswerCache(link, link)
        try:
            await admin.config_set("maxmemory-policy", "noeviction")
            await admin.config_set("maxmemory", 2**30)
            cache.put(KEY, b"while there is room", 60)
            assert await cache.get(KEY) == b"while there is room"
            used = int((await admin.info("memory"))["used_memory"])
            await admin.config_set("maxmemory", used * 10 // 9)
            cache.put(KEY, b"what makes it look", 60)
            await cache.get(KEY)
            cache.put(KEY, b"what it does not take", 60)
            assert await cache.get(KEY) == b"what makes it look"
        finally:
            await admin.config_set("maxmemory", 0)
