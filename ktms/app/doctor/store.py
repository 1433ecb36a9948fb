"""Redis: whether it is there, can carry leases and limits, and counts the same time.

Not here: what it means for calls when it is away (docs/operations.md).
"""

from collections.abc import AsyncIterator

from ktms.adapters.redis.fitness import clock_s, unfit
from ktms.adapters.redis.link import RedisLink
from ktms.app.doctor.clocks import clock_finding
from ktms.app.doctor.environment import is_far
from ktms.app.doctor.finding import Finding, error, fine, warning
from ktms.config.settings import Settings
from ktms.ports.clock import Clock
from ktms.ports.lease_store import LeaseStoreAway

REDIS = "redis"
MS_PER_S = 1000

_WHY = {
    "away": "nobody listens there, or there is no way there",
    "timeout": "it is slower than KTMS_REDIS_TIMEOUT_MS, or says nothing",
    "error": "it refuses the password, the database or the command, or still loads",
}


async def redis_findings(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    """Look at Redis, where the settings name one."""
    if settings.redis_url is None:
        yield warning(
            REDIS,
            "KTMS_REDIS_URL is not set: each process counts slots and limits for itself",
            "set it where there is more than one replica",
        )
        return
    url = settings.redis_url.reveal()
    try:
        link = RedisLink(url, timeout_s=settings.redis_timeout_ms / MS_PER_S)
    except ValueError:
        yield error(REDIS, "KTMS_REDIS_URL: this release speaks redis, rediss and redis+cluster")
        return
    if url.startswith(("redis://", "redis+cluster://")) and is_far(url):
        yield warning(REDIS, "plain text to another machine", "let it speak TLS and write rediss://")
    async with link:
        try:
            found = [await _fitness(link), await _clock(link, clock)]
        except LeaseStoreAway as away:
            found = [
                error(
                    REDIS,
                    f"it does not answer: {_WHY.get(away.kind, away.kind)}",
                    "mend KTMS_REDIS_URL or the server",
                )
            ]
    for finding in found:
        yield finding


async def _fitness(link: RedisLink) -> Finding:
    reason = await unfit(link)
    return fine(REDIS, "it answers, runs scripts and keeps leases") if reason is None else error(REDIS, reason)


async def _clock(link: RedisLink, clock: Clock) -> Finding:
    before_s = clock.wall()
    theirs_s = await clock_s(link)
    return clock_finding(REDIS, theirs_s, before_s, clock.wall())
