"""`serve` inside the test's own process; what it says as a process is told by the tests from outside (e2e)."""

import asyncio
import base64
import json
import os
import signal
from dataclasses import replace

import pytest

from ktms.adapters.memory.entropy import SeededEntropy
from ktms.app.failed import StartFailed
from ktms.app.serve import serve
from ktms.config.address import Address
from ktms.config.settings import Settings
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.secret import Secret
from tests.api.wire_client import Answer, ask, request
from tests.conftest import Gate
from tests.e2e.ports import any_port, listens, occupied

KEYRING = "test-1:" + base64.urlsafe_b64encode(SeededEntropy("serve").token_bytes(32)).decode().rstrip("=")
LOOPBACK = "127.0.0.1"


def settings_of(dsn: str | None) -> Settings:
    return Settings(
        http_addr=Address(LOOPBACK, any_port()),
        admin_addr=Address(LOOPBACK, any_port()),
        database_url=None if dsn is None else Secret(dsn),
        encryption_keys=Secret(KEYRING),
        drain_delay_s=0,
        shutdown_timeout_s=5,
        database_pool_max=3,
    )


async def refusal(settings: Settings) -> str:
    with pytest.raises(StartFailed) as refused:
        await serve(settings)
    return str(refused.value)


async def answer_of(port: int, target: str) -> Answer | None:
    try:
        return await ask(port, request(target))
    except OSError:
        return None


async def until_missing(port: int, *reasons: str) -> Answer:
    """Ask until `/readyz` names exactly these reasons."""
    async with asyncio.timeout(20):
        while True:
            answer = await answer_of(port, "/readyz")
            if answer is not None and answer.json["reasons"] == list(reasons):
                return answer
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"database_url": None}, "KTMS_DATABASE_URL is not set"),
        ({"encryption_keys": None}, "KTMS_ENCRYPTION_KEYS is not set"),
        ({"encryption_keys": Secret("a:secret")}, "KTMS_ENCRYPTION_KEYS: key 1"),
        ({"workers": 2}, "KTMS_WORKERS"),
    ],
)
async def test_what_is_missing_or_wrong_is_named_and_no_secret_shown(
    changed: dict[str, object], said: str
) -> None:
    told = await refusal(replace(settings_of("postgresql://x:pw@127.0.0.1:1/x"), **changed))  # type: ignore[arg-type]  # members by name
    assert told.startswith(said)
    assert "secret" not in told


async def test_all_that_is_missing_is_named_at_once() -> None:
    told = await refusal(replace(settings_of(None), encryption_keys=None))
    assert [line.split()[0] for line in told.splitlines()] == ["KTMS_DATABASE_URL", "KTMS_ENCRYPTION_KEYS"]


async def test_a_taken_port_is_named_with_its_owner() -> None:
    with occupied() as port:
        settings = replace(settings_of("postgresql://x:pw@127.0.0.1:1/x"), http_addr=Address(LOOPBACK, port))
        assert f"taken by {_own_name()}" in await refusal(settings)


async def test_a_taken_admin_port_leaves_no_open_port_behind() -> None:
    with occupied() as port:
        settings = replace(settings_of("postgresql://x:pw@127.0.0.1:1/x"), admin_addr=Address(LOOPBACK, port))
        await refusal(settings)
    assert not listens(settings.http_addr.port)


async def test_it_says_where_it_listens(capfd: pytest.CaptureFixture[str]) -> None:
    settings = settings_of("postgresql://x:pw@127.0.0.1:1/x")
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(settings))
        await until_missing(settings.http_addr.port, "no_snapshot", "postgres_away", "key_window_closed")
        os.kill(os.getpid(), signal.SIGTERM)
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    told = [line for line in lines if line["event"] == "listening"]
    assert [(line["http"], line["admin"]) for line in told] == [
        (str(settings.http_addr), str(settings.admin_addr))
    ]


@pytest.mark.service
async def test_it_serves_until_a_signal_and_leaves_nothing_behind(bare_dsn: str) -> None:
    token = make_key(KeyKind.ADMIN, SeededEntropy("owner").token_bytes)
    settings = replace(settings_of(bare_dsn), bootstrap_admin_key=Secret(token))
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(settings))
        await until_missing(settings.http_addr.port, "no_snapshot")  # nothing was applied yet
        assert listens(settings.admin_addr.port)
        os.kill(os.getpid(), signal.SIGTERM)
    assert not listens(settings.http_addr.port)
    assert not listens(settings.admin_addr.port)
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.service
async def test_a_database_that_is_away_at_start_is_awaited(gated_bare_dsn: str, postgres_gate: Gate) -> None:
    await postgres_gate.close()
    settings = settings_of(gated_bare_dsn)
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(settings))
        await until_missing(settings.http_addr.port, "no_snapshot", "postgres_away", "key_window_closed")
        alive = await answer_of(settings.http_addr.port, "/healthz")
        assert alive is not None
        assert alive.status == 200
        await postgres_gate.open()
        await until_missing(settings.http_addr.port, "no_snapshot")
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.service
async def test_a_bootstrap_key_that_is_none_ends_the_start(bare_dsn: str) -> None:
    settings = replace(settings_of(bare_dsn), bootstrap_admin_key=Secret("ktms_adm_cut"))
    told = await refusal(settings)
    assert told.startswith("KTMS_BOOTSTRAP_ADMIN_KEY is not a complete admin key")
    assert "cut" not in told
    assert not listens(settings.http_addr.port)


def _own_name() -> str:
    with open("/proc/self/comm") as file:  # noqa: PTH123 - one line of the kernel
        return file.read().strip()
