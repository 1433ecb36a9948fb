import asyncio
from collections.abc import AsyncIterator

import pytest

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
        cache = RedisAnswerCache(link)
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
        cache = RedisAnswerCache(link)
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
        cache = RedisAnswerCache(link)
    cache.put(KEY, b"x", 60)
    with pytest.raises(CacheAway):
        await cache.get(KEY)
