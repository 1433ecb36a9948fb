"""`ktms ledger` from settings, in this process, on a real Postgres; as a process it is met in tests/e2e."""

import asyncio
import os
import signal
from dataclasses import replace

import asyncpg
import pytest
from grpc_health.v1 import health_pb2

from ktms.adapters.embedded.tcp_port import free_port
from ktms.adapters.grpc.ledger_client import GrpcLedger
from ktms.config.address import Address
from ktms.config.ledger_settings import LedgerSettings
from ktms.config.settings import LogLevel
from ktms.domain.access.secret import Secret
from ktms.domain.access.usage_report import UsageQuery
from ktms.ledger.run import LedgerFailed, run_ledger
from tests.conftest import Gate
from tests.ledger.health import until_health
from tests.usage_events import usage_event


def settings(dsn: str) -> LedgerSettings:
    address = Address("127.0.0.1", free_port(None))
    return LedgerSettings(Secret(dsn), Secret(dsn), addr=address, log_level=LogLevel.ERROR)


SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def test_a_fresh_database_gets_its_schema_and_a_signal_ends_it(bare_dsn: str) -> None:
    chosen = settings(bare_dsn)
    async with asyncio.TaskGroup() as group:
        group.create_task(run_ledger(chosen, "1.2.3"))
        await until_health(str(chosen.addr), SERVING)
        ledger = GrpcLedger(str(chosen.addr))
        await ledger.send([usage_event(1)])
        assert len(await ledger.usage(UsageQuery(0, 100_000))) == 1
        await ledger.close()
        os.kill(os.getpid(), signal.SIGTERM)


async def test_it_waits_for_a_database_that_is_away(postgres_gate: Gate, gated_bare_dsn: str) -> None:
    await postgres_gate.close()
    chosen = settings(gated_bare_dsn)
    async with asyncio.TaskGroup() as group:
        group.create_task(run_ledger(chosen, "1.2.3"))
        await until_health(str(chosen.addr), NOT_SERVING)
        await postgres_gate.open()
        await until_health(str(chosen.addr), SERVING)
        await postgres_gate.close()
        await until_health(str(chosen.addr), NOT_SERVING)
        os.kill(os.getpid(), signal.SIGTERM)


async def test_an_address_that_is_exposed_is_refused(bare_dsn: str) -> None:
    with pytest.raises(LedgerFailed, match="plain text"):
        await run_ledger(replace(settings(bare_dsn), addr=Address("0.0.0.0", 0)), "1.2.3")


async def test_a_schema_that_is_not_ours_is_refused(bare_dsn: str) -> None:
    async with asyncio.TaskGroup() as group:
        chosen = settings(bare_dsn)
        group.create_task(run_ledger(chosen, "1.2.3"))
        await until_health(str(chosen.addr), SERVING)
        os.kill(os.getpid(), signal.SIGTERM)
    connection = await asyncpg.connect(bare_dsn)
    await connection.execute("update ledger.migration set sha256 = 'x'")
    await connection.close()
    with pytest.raises(LedgerFailed, match="was applied with another content"):
        await run_ledger(settings(bare_dsn), "1.2.3")
