"""The simulated Redis as worlds have it: redis-py over the simulated network, on virtual time."""

import asyncio

import pytest
from redis.asyncio import Redis

from ktms.adapters.redis.connect import RedisAway, RedisProbe
from ktms.app.beside import LOOK_EVERY_S, watch_redis
from sim.fakes.telemetry import JournalTelemetry
from sim.journal.journal import Journal
from tests.sim.fakes.redis.lab import URL, Lab


def test_times_to_live_count_on_virtual_time() -> None:
    async def work(_: Lab) -> None:
        client = Redis.from_url(URL)
        assert await client.set("lease", "a", nx=True, px=5000)
        await asyncio.sleep(4.9)
        assert not await client.set("lease", "b", nx=True, px=5000)
        await asyncio.sleep(0.1)
        assert await client.set("lease", "b", nx=True, px=5000)
        await client.aclose()

    Lab().run(work)


def test_a_hung_server_is_away_after_exactly_the_timeout() -> None:
    async def work(lab: Lab) -> None:
        probe = RedisProbe(URL, 0.25)
        await probe.ping()
        lab.redis.mode("redis_hung", on=True)
        began_at = lab.loop.time()
        with pytest.raises(RedisAway):
            await probe.ping()
        assert lab.loop.time() - began_at == pytest.approx(0.25)
        await probe.close()

    Lab().run(work)


def test_a_server_that_is_away_is_told_at_once() -> None:
    async def work(lab: Lab) -> None:
        lab.redis.mode("redis_away", on=True)
        probe, began_at = RedisProbe(URL, 5), lab.loop.time()
        with pytest.raises(RedisAway):
            await probe.ping()
        assert lab.loop.time() - began_at < 0.1
        await probe.close()

    Lab().run(work)


def test_a_gateway_that_looks_sees_it_go_and_come_back() -> None:
    journal = Journal(lambda: 0.0)

    async def work(lab: Lab) -> None:
        probe = RedisProbe(URL, 0.1)
        for number, on in enumerate((True, False), start=1):
            lab.loop.call_later(2 * number * LOOK_EVERY_S, lambda on=on: lab.redis.mode("redis_away", on=on))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(6 * LOOK_EVERY_S):
                await watch_redis(probe, JournalTelemetry("gw1", journal))()
        await probe.close()

    Lab().run(work)
    assert [fact.number("value") for fact in journal.of("gauge")] == [1, 0, 1]


def test_the_same_seed_gives_the_same_trace() -> None:
    async def work(_: Lab) -> None:
        client = Redis.from_url(URL)
        for number in range(20):
            await client.incrby("n", number)
        await client.aclose()

    first, again = Lab().run(work), Lab().run(work)
    assert first.trace.digest() == again.trace.digest()
