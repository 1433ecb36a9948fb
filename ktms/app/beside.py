"""What a gateway asks of its Redis in production besides the engine's questions: is it fit, does it answer."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from ktms.adapters.redis.connect import RedisAway, RedisProbe
from ktms.adapters.redis.fitness import unfit
from ktms.adapters.redis.link import RedisLink
from ktms.engine.lasting import lasting
from ktms.ports.lease_store import LeaseStoreAway
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

    return partial(lasting, "watch-redis", watch, telemetry)


async def tell_fitness(link: RedisLink, telemetry: Telemetry) -> None:
    """Say at the start what would cost slots at night (FR13); a Redis that is away is told by those who ask it."""
    try:
        reason = await unfit(link)
    except LeaseStoreAway:
        return
    if reason is not None:
        telemetry.event("error", "redis_unfit", reason=reason)


async def _failure_of(probe: RedisProbe) -> str | None:
    try:
        await probe.ping()
    except RedisAway:
        return "away"
    return None
