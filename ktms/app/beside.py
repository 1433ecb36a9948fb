"""What runs beside a gateway in production and belongs to no engine: looks at what nobody else asks yet."""

import asyncio
from collections.abc import Awaitable, Callable

from ktms.adapters.redis.connect import RedisAway, RedisProbe
from ktms.ports.telemetry import Dependency, Gauge, Telemetry

LOOK_EVERY_S = 5.0
"""Redis carries nothing yet; its state is shown so that an operator sees it before limits lean on it."""


def watch_redis(probe: RedisProbe, telemetry: Telemetry) -> Callable[[], Awaitable[None]]:
    """Give a loop that keeps `ktms_dependency_up` of Redis true."""

    async def watch() -> None:
        while True:
            try:
                await probe.ping()
            except RedisAway:
                telemetry.dependency_failed(Dependency.REDIS, "ping", "away")
                telemetry.gauge(Gauge.DEPENDENCY_UP, 0, Dependency.REDIS.value)
            else:
                telemetry.gauge(Gauge.DEPENDENCY_UP, 1, Dependency.REDIS.value)
            await asyncio.sleep(LOOK_EVERY_S)

    return watch
