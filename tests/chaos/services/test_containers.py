import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import TypeVar

import asyncpg
import pytest
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from testcontainers.core.docker_client import DockerClient

from chaos.proxy.proxy import Proxies
from chaos.services import contained
from chaos.services.chosen import is_required
from chaos.services.container import NAME_PREFIX, Container, Recipe, engine_missing
from chaos.services.containers import IMAGE_REDIS, Containers
from chaos.services.free_port import is_free
from chaos.services.service import Address, Postgres, Redis, ServiceFailed, ToxiproxyServer, Unavailable

FELT_S = 0.3
"""Beyond what an answer of this machine takes."""

GIVEN_UP_S = 0.2
"""While the container is made or its Postgres makes its files, which takes a second."""

VARIABLES = os.environ  # noqa: TID251  # which images there are
T = TypeVar("T")


@pytest.fixture
async def containers() -> Containers:
    """Of the engine of this machine and the images that the environment names, or the usual ones."""
    why = await asyncio.to_thread(engine_missing)
    if why:
        pytest.skip(why)
    return Containers(VARIABLES)


@pytest.fixture
async def postgres(containers: Containers) -> AsyncIterator[Postgres]:
    async with running_or_skip(containers.postgres()) as postgres:
        yield postgres


@pytest.fixture
async def server(containers: Containers) -> AsyncIterator[Redis]:
    async with running_or_skip(containers.redis()) as server:
        yield server


@pytest.fixture
async def client(server: Redis) -> AsyncIterator[redis.asyncio.Redis]:
    opened = redis.asyncio.Redis.from_url(server.url(), retry=Retry(NoBackoff(), 0))
    await opened.set("x", "1")
    yield opened
    await opened.aclose()


@pytest.fixture
async def contained_toxiproxy(containers: Containers) -> AsyncIterator[ToxiproxyServer]:
    async with running_or_skip(containers.toxiproxy()) as toxiproxy:
        yield toxiproxy


@asynccontextmanager
async def running_or_skip(opening: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    async with AsyncExitStack() as opened:
        try:
            service = await opened.enter_async_context(opening)
        except Unavailable as missing:
            if is_required():
                raise
            pytest.skip(missing.why)
        yield service


def known_names() -> set[str]:
    """All containers of the suite that the engine knows, of other runs too."""
    with closing(DockerClient().client) as engine:
        return {str(each.name) for each in engine.containers.list(all=True, filters={"name": NAME_PREFIX})}


async def made(postgres: Postgres) -> None:
    connection = await asyncpg.connect(postgres.url())
    await connection.execute("create table t as select 42 as x")
    await connection.close()


async def kept(postgres: Postgres) -> object:
    connection = await asyncpg.connect(postgres.url())
    value = await connection.fetchval("select x from t")
    await connection.close()
    return value


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


@pytest.mark.usefixtures("containers")
async def test_an_image_that_is_not_to_be_had_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="name another one by KTMS_CHAOS_IMAGE"):
        async with Containers({IMAGE_REDIS: "ktms-no-such-image:0"}).redis():
            pass


@pytest.mark.usefixtures("server")
async def test_an_image_without_the_program_is_unavailable_and_leaves_nothing() -> None:
    before = await asyncio.to_thread(known_names)
    container = Container(Recipe("X", VARIABLES.get(IMAGE_REDIS) or "redis:7", ["no-such-program"]))
    with pytest.raises(Unavailable, match="X cannot be made from the image"):
        await container.start()
    assert await asyncio.to_thread(known_names) == before


async def test_a_server_that_ends_as_it_starts_is_told_by_its_last_words_and_leaves_nothing(
    containers: Containers, server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contained, "free_port", lambda: server.address.port)
    before = await asyncio.to_thread(known_names)
    with pytest.raises(ServiceFailed, match=r"Redis \(container\) has ended: .*in use"):
        async with containers.redis():
            pass
    assert await asyncio.to_thread(known_names) == before


@pytest.mark.usefixtures("postgres")
async def test_a_start_that_is_given_up_leaves_nothing(containers: Containers) -> None:
    before = await asyncio.to_thread(known_names)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(GIVEN_UP_S), containers.postgres():
            pass
    assert await asyncio.to_thread(known_names) == before


async def test_a_contained_toxiproxy_drives_proxies(contained_toxiproxy: ToxiproxyServer, echo: Address) -> None:
    async with Proxies(contained_toxiproxy) as proxies:
        proxy = await proxies.proxy("echo", echo)
        reader, writer = await asyncio.open_connection(proxy.listens.host, proxy.listens.port)
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        writer.close()
        await writer.wait_closed()


async def test_a_contained_postgres_keeps_data_and_port_through_a_kill(postgres: Postgres) -> None:
    await made(postgres)
    await postgres.kill()
    assert is_free(postgres.address.port)
    await postgres.start()
    assert await kept(postgres) == 42


async def test_a_contained_postgres_that_is_frozen_can_be_killed(postgres: Postgres) -> None:
    await made(postgres)
    await postgres.freeze()
    await postgres.kill()
    await postgres.start()
    assert await kept(postgres) == 42


async def test_what_a_contained_redis_held_outlives_a_kill(server: Redis, client: redis.asyncio.Redis) -> None:
    await server.kill()
    await server.start()
    await client.connection_pool.disconnect()
    assert await client.get("x") == b"1"


async def test_a_contained_redis_may_come_back_empty(server: Redis, client: redis.asyncio.Redis) -> None:
    await server.kill()
    await server.start(empty=True)
    await client.connection_pool.disconnect()
    assert await client.get("x") is None


async def test_a_frozen_contained_redis_is_silent_and_answers_after(
    server: Redis, client: redis.asyncio.Redis
) -> None:
    await server.freeze()
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(get(client))
        done, _ = await asyncio.wait([asking], timeout=FELT_S)
        assert not done
        await server.thaw()
    assert asking.result() == b"1"


async def test_to_break_a_contained_redis_twice_is_harmless(server: Redis, client: redis.asyncio.Redis) -> None:
    await server.freeze()
    await server.freeze()
    await server.thaw()
    await server.thaw()
    assert await client.get("x") == b"1"
    await server.kill()
    await server.kill()
    await server.freeze()
    await server.thaw()


async def test_a_frozen_container_is_removed(containers: Containers) -> None:
    before = await asyncio.to_thread(known_names)
    async with running_or_skip(containers.redis()) as server:
        await server.freeze()
    assert await asyncio.to_thread(known_names) == before
    assert is_free(server.address.port)
