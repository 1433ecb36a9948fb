"""What runs beside a gateway in production and belongs to no engine: it looks at what may be idle."""

import asyncio
from collections.abc import Awaitable, Callable

from ktms.adapters.redis.connect import RedisAway, RedisProbe
from ktms.ports.telemetry import Dependency, Gauge, Telemetry

LOOK_EVERY_S = 5.0
"""A gateway without nodes asks Redis nothing; its state is shown nevertheless."""


def never() -> bool:
    """Say of a Redis that nothing else asks that it is not left alone."""
    return False


def watch_redis(
    probe: RedisProbe, telemetry: Telemetry, silenced: Callable[[], bool] = never
) -> Callable[[], Awaitable[None]]:
    """Give a loop that keeps `ktms_dependency_up` of Redis true.

    While `silenced` says that Redis is left alone after failures (FR7) this loop does so too, and tells what those
    failures told.
    """

    async def watch() -> None:
        while True:
            failure = "silenced" if silenced() else await _failure_of(probe)
            if failure is not None:
                telemetry.dependency_failed(Dependency.REDIS, "ping", failure)
            telemetry.gauge(Gauge.DEPENDENCY_UP, int(failure is None), Dependency.REDIS.value)
            await asyncio.sleep(LOOK_EVERY_S)

    return watch


async def _failure_of(probe: RedisProbe) -> str | None:
    try:
        await probe.ping()
    except RedisAway:
        return "away"
    return None
