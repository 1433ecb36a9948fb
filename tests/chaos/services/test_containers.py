import asyncio
import os
from pathlib import Path

import asyncpg
import pytest
import redis.asyncio

from chaos.proxy.proxy import Proxies
from chaos.services.container import engine_missing
from chaos.services.containers import Containers
from chaos.services.service import Address, Unavailable

FELT_S = 0.3
"""Beyond what an answer of this machine takes."""


@pytest.fixture
async def containers() -> Containers:
    why = await asyncio.to_thread(engine_missing)
    if why:
        pytest.skip(why)
    return Containers({})


async def get(client: redis.asyncio.Redis) -> object:
    return await client.get("x")


async def test_without_an_engine_the_reason_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert "start one, or name it by DOCKER_HOST" in str(await Containers({}).ready())


async def test_a_toxiproxy_image_has_no_name_unless_it_is_given() -> None:
    with pytest.raises(Unavailable, match="KTMS_CHAOS_IMAGE_TOXIPROXY names no image"):
        async with Containers({}).toxiproxy():
            pass


async def test_an_image_that_is_not_to_be_had_is_unavailable_and_leaves_nothing(containers: Containers) -> None:
    assert containers.name == "containers"
    with pytest.raises(Unavailable, match="name another one by KTMS_CHAOS_IMAGE"):
        async with Containers({"KTMS_CHAOS_IMAGE_REDIS": "ktms-no-such-image:0"}).redis():
            pass


async def test_a_contained_toxiproxy_drives_proxies(containers: Containers, echo: Address) -> None:
    assert containers.name == "containers"
    image = os.environ.get("KTMS_CHAOS_IMAGE_TOXIPROXY")  # noqa: TID251  # which image there is
    if not image:
        pytest.skip("KTMS_CHAOS_IMAGE_TOXIPROXY names no image")
    async with (
        Containers({"KTMS_CHAOS_IMAGE_TOXIPROXY": image}).toxiproxy() as server,
        Proxies(server) as proxies,
    ):
        proxy = await proxies.proxy("echo", echo)
        reader, writer = await asyncio.open_connection(proxy.listens.host, proxy.listens.port)
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        writer.close()
        await writer.wait_closed()


async def test_a_contained_postgres_keeps_data_and_port_through_a_kill(containers: Containers) -> None:
    async with containers.postgres() as postgres:
        connection = await asyncpg.connect(postgres.url())
        await connection.execute("create table t as select 42 as x")
        await postgres.kill()
        connection.terminate()
        await postgres.start()
        connection = await asyncpg.connect(postgres.url())
        assert await connection.fetchval("select x from t") == 42
        await connection.close()


async def test_a_contained_redis_is_frozen_killed_and_comes_back_empty(containers: Containers) -> None:
    async with containers.redis() as server:
        client = redis.asyncio.Redis.from_url(server.url())
        await client.set("x", "1")
        await server.freeze()
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(get(client))
            done, _ = await asyncio.wait([asking], timeout=FELT_S)
            assert not done
            await server.thaw()
        await server.kill()
        await server.start()
        await client.connection_pool.disconnect()
        assert await client.get("x") == b"1"
        await server.kill()
        await server.start(empty=True)
        await client.connection_pool.disconnect()
        assert await client.get("x") is None
        await client.aclose()
