import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from ktms.adapters.redis.keys import FREED
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.news import hear_freed
from ktms.domain.ids import NodeName
from ktms.ports.lease_store import LeaseStoreAway
from tests.adapters.redis.stand_in import PATIENT_S, StandIn, until

SHORT_S = 0.05


async def test_nobody_listens_to_a_redis_that_is_left_alone(stand_in: StandIn) -> None:
    stand_in.redis.mode("redis_away", on=True)
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S, silence_s=600) as link:
        link.tell(("PING",))
        await until(lambda: link.silenced)
        connected = stand_in.connected
        with pytest.raises(LeaseStoreAway, match="silenced"):
            await anext(hear_freed(link))
        assert stand_in.connected == connected


async def test_a_silent_server_that_lives_is_listened_to_on(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link, asyncio.TaskGroup() as group:
        news = hear_freed(link, silence_max_s=0.01)
        heard = group.create_task(first_of(news))
        await until(lambda: stand_in.pieces >= 4)  # subscribed, and asked for a sign of life
        link.tell(("PUBLISH", FREED, "mac-1"))
        assert await heard == "mac-1"


async def test_a_silent_server_that_is_dead_is_told(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=SHORT_S) as link, asyncio.TaskGroup() as group:
        news = hear_freed(link, silence_max_s=SHORT_S)
        hearing = group.create_task(kind_of(news))
        await until(lambda: stand_in.pieces >= 1)
        stand_in.redis.mode("redis_hung", on=True)
        assert await hearing == "timeout"


async def test_a_server_that_cannot_be_reached_is_told() -> None:
    async with RedisLink("redis://127.0.0.1:1") as link:
        assert await kind_of(hear_freed(link)) == "away"


async def test_who_stops_listening_leaves_no_connection(stand_in: StandIn) -> None:
    async with RedisLink(stand_in.url, timeout_s=PATIENT_S) as link:
        async with aclosing(hear_freed(link)) as news, asyncio.TaskGroup() as group:
            hearing = group.create_task(first_of(news))
            await until(lambda: stand_in.pieces >= 1)
            hearing.cancel()
        await until(lambda: stand_in.redis.connections == 0)


async def first_of(news: AsyncIterator[NodeName]) -> NodeName:
    return await anext(news)


async def kind_of(news: AsyncIterator[NodeName]) -> str:
    with pytest.raises(LeaseStoreAway) as away:
        await anext(news)
    return away.value.kind
