from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from ktms.adapters.redis.fitness import clock_s, unfit
from ktms.adapters.redis.link import RedisLink
from ktms.ports.lease_store import LeaseStoreAway
from tests.adapters.redis.stand_in import PATIENT_S, StandIn


@pytest.fixture
async def admin(valkey_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(valkey_url) as client:
        yield client
        await client.config_set("maxmemory", 0)
        await client.config_set("maxmemory-policy", "noeviction")
        await tell(client, "ACL", "DELUSER", "narrow")


async def tell(client: Redis, *words: str) -> None:
    await client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py says nothing of its type


async def what_is_wrong(url: str) -> str | None:
    async with RedisLink(url, timeout_s=PATIENT_S) as link:
        return await unfit(link)


async def test_a_plain_server_is_fit(valkey_url: str) -> None:
    assert await what_is_wrong(valkey_url) is None


async def test_a_server_that_evicts_whatever_it_has_is_not(valkey_url: str, admin: Redis) -> None:
    await admin.config_set("maxmemory", 2**30)
    await admin.config_set("maxmemory-policy", "allkeys-lru")
    assert "it is allkeys-lru" in str(await what_is_wrong(valkey_url))


async def test_a_server_that_evicts_only_what_ends_by_itself_is_fit(valkey_url: str, admin: Redis) -> None:
    await admin.config_set("maxmemory", 2**30)
    await admin.config_set("maxmemory-policy", "volatile-lru")
    assert await what_is_wrong(valkey_url) is None


async def test_a_server_that_refuses_scripts_is_not(valkey_url: str, admin: Redis) -> None:
    await tell(admin, "ACL", "SETUSER", "narrow", "on", ">word", "~*", "&*", "+@all", "-@scripting")
    narrow = f"redis://narrow:word@{valkey_url.split('@')[1]}"
    assert "refuses Lua scripts" in str(await what_is_wrong(narrow))


async def test_a_server_that_keeps_its_settings_to_itself_is_believed(valkey_url: str, admin: Redis) -> None:
    await tell(admin, "ACL", "SETUSER", "narrow", "on", ">word", "~*", "&*", "+@all", "-info")
    assert await what_is_wrong(f"redis://narrow:word@{valkey_url.split('@')[1]}") is None


async def test_a_server_that_is_away_is_not_called_unfit(stand_in: StandIn) -> None:
    stand_in.redis.mode("redis_away", on=True)
    async with RedisLink(stand_in.url) as link:
        with pytest.raises(LeaseStoreAway):
            await unfit(link)


async def test_the_clock_of_a_server_is_read(valkey_url: str, admin: Redis) -> None:
    seconds, _ = await admin.time()
    async with RedisLink(valkey_url, timeout_s=PATIENT_S) as link:
        assert seconds <= await clock_s(link) < seconds + PATIENT_S
