import pytest
from redis.asyncio import Redis

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.system.clock import SystemClock
from ktms.app.doctor.finding import Finding, Verdict
from ktms.app.doctor.store import redis_findings
from ktms.config.settings import Settings
from ktms.domain.access.secret import Secret
from ktms.ports.clock import Clock

PATIENT_MS = 5000


async def found(url: str | None, clock: Clock | None = None, timeout_ms: int = PATIENT_MS) -> list[Finding]:
    settings = Settings(redis_url=None if url is None else Secret(url), redis_timeout_ms=timeout_ms)
    return [each async for each in redis_findings(settings, clock or SystemClock())]


async def test_without_redis_it_says_who_counts() -> None:
    [finding] = await found(None)
    assert (finding.verdict, "counts slots and limits for itself" in finding.text) == (Verdict.WARNING, True)


async def test_a_kind_of_url_that_is_not_here_yet_is_an_error() -> None:
    [finding] = await found("redis+sentinel://127.0.0.1:26379/0")
    assert finding.verdict is Verdict.ERROR


async def test_a_server_that_is_fit_and_in_step_is_fine(valkey_url: str) -> None:
    assert [(each.verdict, each.subject) for each in await found(valkey_url)] == [
        (Verdict.OK, "redis"),
        (Verdict.OK, "clock of redis"),
    ]


async def test_a_clock_that_is_off_is_a_warning(valkey_url: str) -> None:
    findings = await found(valkey_url, ManualClock())
    assert [each.verdict for each in findings] == [Verdict.OK, Verdict.WARNING]


async def test_a_server_that_evicts_leases_is_an_error(valkey_url: str) -> None:
    async with Redis.from_url(valkey_url) as admin:
        await admin.config_set("maxmemory", 2**30)
        await admin.config_set("maxmemory-policy", "allkeys-lru")
        try:
            findings = await found(valkey_url)
        finally:
            await admin.config_set("maxmemory", 0)
            await admin.config_set("maxmemory-policy", "noeviction")
    assert (findings[0].verdict, "noeviction" in findings[0].text) == (Verdict.ERROR, True)


@pytest.mark.parametrize("user", ["canary", ":canary"])
async def test_a_wrong_password_is_told_without_it(valkey_url: str, user: str) -> None:
    [finding] = await found(f"redis://{user}:canary@{valkey_url.split('@')[1]}")
    assert (finding.verdict, "refuses the password" in finding.text) == (Verdict.ERROR, True)
    assert "canary" not in finding.text + finding.remedy


async def test_nobody_there_is_an_error() -> None:
    [finding] = await found("redis://127.0.0.1:1/0")
    assert (finding.verdict, "nobody listens there" in finding.text) == (Verdict.ERROR, True)


async def test_a_server_that_says_nothing_is_told_from_one_that_is_not_there(silent_port: int) -> None:
    [finding] = await found(f"redis://127.0.0.1:{silent_port}/0", timeout_ms=50)
    assert (finding.verdict, "says nothing" in finding.text) == (Verdict.ERROR, True)


async def test_plain_text_to_another_machine_is_a_warning() -> None:
    findings = await found("redis://192.0.2.1:1/0", timeout_ms=1)
    assert (findings[0].verdict, "rediss://" in findings[0].remedy) == (Verdict.WARNING, True)
