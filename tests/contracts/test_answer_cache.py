"""Contract of `ktms/ports/answer_cache.py`: one suite for every implementation."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.redis.answer_cache import RedisAnswerCache
from ktms.adapters.redis.link import RedisLink
from ktms.ports.answer_cache import AnswerCache, CacheAway
from sim.fakes.redis.server import SimRedis
from tests.adapters.redis.stand_in import PATIENT_S
from tests.conftest import Gate

KEY, OTHER = bytes(range(32)), bytes(32)
SHORT_S = 0.2
"""A time whose end is waited for. Nothing is concluded from its not being over yet."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A store that two replicas share; time passes by `let_pass`, or by itself."""

    mine: AnswerCache
    theirs: AnswerCache
    let_pass: Callable[[float], object]
    take_away: Callable[[], Awaitable[None]]

    async def until(self, key: bytes, answer: bytes | None) -> None:
        """Ask until the others have this answer too."""
        async with asyncio.timeout(PATIENT_S):
            while await self.theirs.get(key) != answer:
                self.let_pass(SHORT_S / 10)


async def test_of_what_was_never_kept_there_is_nothing(cache: Stage) -> None:
    assert await cache.mine.get(KEY) is None


@pytest.mark.parametrize("answer", [b"", b"x", b"\r\n$-1\r\n\x00\xff", b"y" * (1024 * 1024)])
async def test_what_one_replica_keeps_another_gives(cache: Stage, answer: bytes) -> None:
    cache.mine.put(KEY, answer, 60)
    await cache.until(KEY, answer)
    assert await cache.theirs.get(OTHER) is None


async def test_the_newest_answer_counts(cache: Stage) -> None:
    cache.mine.put(KEY, b"old", 60)
    cache.mine.put(KEY, b"new", 60)
    await cache.until(KEY, b"new")


async def test_an_answer_ends_with_its_time(cache: Stage) -> None:
    cache.mine.put(KEY, b"x", SHORT_S)
    cache.mine.put(OTHER, b"y", 60)
    await cache.until(OTHER, b"y")
    await cache.until(KEY, None)
    assert await cache.theirs.get(OTHER) == b"y"


async def test_a_store_that_is_away_is_told_and_keeps_nothing(cache: Stage) -> None:
    cache.mine.put(KEY, b"x", 60)
    await cache.until(KEY, b"x")
    await cache.take_away()
    with pytest.raises(CacheAway):
        await cache.mine.get(KEY)
    cache.mine.put(OTHER, b"y", 60)


@asynccontextmanager
async def in_memory() -> AsyncIterator[Stage]:
    clock = ManualClock()
    both = MemoryAnswerCache(clock)

    async def take_away() -> None:
        both.away = "away"

    yield Stage(both, both, clock.advance, take_away)


@asynccontextmanager
async def over(
    url: str, let_pass: Callable[[float], object], away: Callable[[], Awaitable[None]]
) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as exits:
        links = [await exits.enter_async_context(RedisLink(url, timeout_s=PATIENT_S)) for _ in range(2)]
        mine, theirs = (RedisAnswerCache(link, link) for link in links)
        yield Stage(mine, theirs, let_pass, away)


@asynccontextmanager
async def in_a_world() -> AsyncIterator[Stage]:
    passed: list[float] = []
    loop = asyncio.get_running_loop()
    server = SimRedis(now=lambda: loop.time() + sum(passed))

    async def take_away() -> None:
        server.mode("redis_away", on=True)

    async with await loop.create_server(server.connection, "127.0.0.1", 0) as listening:
        url = f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}/0"
        async with over(url, passed.append, take_away) as stage:
            yield stage


@pytest.fixture
async def valkey_cache(valkey_server: EmbeddedValkey, valkey_url: str) -> AsyncIterator[Stage]:
    parts = urlsplit(valkey_url)
    assert parts.port is not None
    gate = Gate(parts.port)
    await gate.open()
    url = valkey_url.replace(f":{parts.port}", f":{gate.port}")
    async with over(url, lambda _: None, gate.close) as stage:
        yield stage
    await gate.close()


@pytest.fixture
async def memory_cache() -> AsyncIterator[Stage]:
    async with in_memory() as stage:
        yield stage


@pytest.fixture
async def sim_cache() -> AsyncIterator[Stage]:
    async with in_a_world() as stage:
        yield stage


@pytest.fixture(params=["memory", "sim", pytest.param("valkey", marks=pytest.mark.service)])
def cache(request: pytest.FixtureRequest) -> Stage:
    stage: Stage = request.getfixturevalue(f"{request.param}_cache")
    return stage
