import asyncio
from collections.abc import Callable

import pytest

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.redis.connect import RedisProbe
from ktms.app import beside as module
from ktms.app.beside import never, watch_redis
from ktms.ports.telemetry import Dependency, Gauge
from tests.adapters.redis.stand_in import standing_in
from tests.e2e.ports import any_port

UP = (Gauge.DEPENDENCY_UP, "redis")


async def watched(
    probe: RedisProbe,
    telemetry: MemoryTelemetry,
    seen: Callable[[], bool],
    silenced: Callable[[], bool] = never,
) -> None:
    async def watch() -> None:
        await watch_redis(probe, telemetry, silenced)()

    async with asyncio.TaskGroup() as group, asyncio.timeout(10):
        watching = group.create_task(watch())
        while not seen():  # noqa: ASYNC110 - the loop tells nobody
            await asyncio.sleep(0)
        watching.cancel()
    await probe.close()


@pytest.mark.service
async def test_a_redis_that_answers_is_up(valkey_url: str, telemetry: MemoryTelemetry) -> None:
    await watched(RedisProbe(valkey_url, 2), telemetry, lambda: UP in telemetry.gauges)
    assert telemetry.gauges[UP] == 1
    assert telemetry.failures == []


async def test_a_redis_that_refuses_is_down_and_looked_at_again(
    telemetry: MemoryTelemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.01)
    probe = RedisProbe(f"redis://127.0.0.1:{any_port()}", 2)
    await watched(probe, telemetry, lambda: len(telemetry.failures) >= 2)
    assert telemetry.gauges[UP] == 0
    assert set(telemetry.failures) == {(Dependency.REDIS, "ping", "away")}


async def test_a_redis_that_is_left_alone_is_down_and_not_contacted(
    telemetry: MemoryTelemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0)
    async with standing_in() as server:
        probe = RedisProbe(server.url, 2)
        await watched(probe, telemetry, lambda: len(telemetry.failures) >= 2, silenced=lambda: True)
        assert server.connected == 0
    assert telemetry.gauges[UP] == 0
    assert set(telemetry.failures) == {(Dependency.REDIS, "ping", "silenced")}
