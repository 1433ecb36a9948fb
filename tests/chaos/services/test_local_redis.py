import asyncio
from collections.abc import AsyncIterator

import pytest
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from chaos.services.service import Redis

FELT_S = 0.3
"""Beyond what an answer of this machine takes."""


@pytest.fixture
async def client(valkey: Redis) -> AsyncIterator[redis.asyncio.Redis]:
    opened = redis.asyncio.Redis.from_url(valkey.url(), retry=Retry(NoBackoff(), 0))
    yield opened
    await opened.aclose()


async def get(client: redis.asyncio.Redis) -> object:
    return await client.get("x")


async def test_what_it_held_outlives_a_kill(valkey: Redis, client: redis.asyncio.Redis) -> None:
    await client.set("x", "1")
    await valkey.kill()
    with pytest.raises(RedisError):
        await client.get("x")
    await valkey.start()
    assert await client.get("x") == b"1"


async def test_it_may_come_back_empty(valkey: Redis, client: redis.asyncio.Redis) -> None:
    await client.set("x", "1")
    await valkey.kill()
    await valkey.start(empty=True)
    await client.connection_pool.disconnect()
    assert await client.get("x") is None


async def test_a_frozen_one_is_silent_and_answers_after(valkey: Redis, client: redis.asyncio.Redis) -> None:
    await client.set("x", "1")
    await valkey.freeze()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(get(client))
        done, _ = await asyncio.wait([asking], timeout=FELT_S)
        assert not done
        await valkey.thaw()
    assert asking.result() == b"1"
