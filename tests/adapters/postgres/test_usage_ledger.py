"""The ledger on Postgres, beyond its contract: partitions, sums under contention, what a broken database says."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.usage_ledger import PostgresUsageLedger
from ktms.adapters.postgres.usage_statements import wall_ms_of
from ktms.domain.access.usage_report import UsageQuery
from ktms.domain.ids import ModelName, RequestId, TenantName
from ktms.ports.ledger import LedgerAway
from tests.usage_events import AT_S, usage_event

MONTH_S = 31 * 86_400
FAR_S = datetime(2031, 5, 15, tzinfo=UTC).timestamp()


@pytest.fixture
async def ledger(postgres_dsn: str, telemetry: MemoryTelemetry) -> AsyncIterator[PostgresUsageLedger]:
    database = Database(postgres_dsn)
    await database.open()
    yield PostgresUsageLedger(database, telemetry)
    await database.close()


async def partition_of(sql: asyncpg.Connection, number: int, at_s: float) -> str:
    """Where the event lies."""
    name: str = await sql.fetchval(
        "select tableoid::regclass::text from ledger.usage_event where id = $1", usage_event(number, at_s=at_s).id
    )
    return name


@pytest.fixture
async def no_far_month(sql: asyncpg.Connection) -> AsyncIterator[None]:
    """The database is the session's: a month that a test makes goes with it."""
    yield
    await sql.execute("drop table if exists ledger.usage_event_2031_05")


async def test_months_are_made_ahead(sql: asyncpg.Connection, ledger: PostgresUsageLedger) -> None:
    await ledger.send([usage_event(1)])
    made = {row["name"] for row in await sql.fetch("select relname as name from pg_class where relispartition")}
    now = await sql.fetchval("select now() at time zone 'UTC'")
    months = [now.year * 12 + now.month - 1 + ahead for ahead in range(3)]
    assert {f"usage_event_{month // 12}_{month % 12 + 1:02d}" for month in months} <= made


async def test_an_event_lies_in_the_month_of_its_id(sql: asyncpg.Connection, ledger: PostgresUsageLedger) -> None:
    now_s = float(await sql.fetchval("select extract(epoch from now())"))
    await ledger.send([usage_event(1, at_s=now_s)])
    month = datetime.fromtimestamp(now_s, UTC)
    assert await partition_of(sql, 1, now_s) == f"ledger.usage_event_{month:%Y_%m}"


async def test_an_event_of_a_month_that_nobody_made_is_kept(
    sql: asyncpg.Connection, ledger: PostgresUsageLedger
) -> None:
    await ledger.send([usage_event(1, at_s=FAR_S)])
    assert await partition_of(sql, 1, FAR_S) == "ledger.usage_event_rest"


@pytest.mark.usefixtures("no_far_month")
async def test_a_month_that_is_made_later_takes_over_what_waited_for_it(
    sql: asyncpg.Connection, ledger: PostgresUsageLedger
) -> None:
    await ledger.send([usage_event(1, at_s=FAR_S), usage_event(2, at_s=FAR_S + MONTH_S)])
    moment = datetime.fromtimestamp(FAR_S, UTC)
    assert await sql.fetchval("select ledger.ensure_month($1)", moment)
    assert not await sql.fetchval("select ledger.ensure_month($1)", moment)
    assert await partition_of(sql, 1, FAR_S) == "ledger.usage_event_2031_05"
    assert await partition_of(sql, 2, FAR_S + MONTH_S) == "ledger.usage_event_rest"


@pytest.mark.usefixtures("no_far_month")
async def test_an_event_that_was_taken_over_is_still_known(
    sql: asyncpg.Connection, ledger: PostgresUsageLedger
) -> None:
    await ledger.send([usage_event(1, at_s=FAR_S)])
    await sql.execute("select ledger.ensure_month($1)", datetime.fromtimestamp(FAR_S, UTC))
    await ledger.send([usage_event(1, at_s=FAR_S)])
    assert await sql.fetchval("select count(*) from ledger.usage_event") == 1


async def test_months_that_cannot_be_made_hold_up_no_event(
    sql: asyncpg.Connection, postgres_dsn: str, ledger: PostgresUsageLedger, telemetry: MemoryTelemetry
) -> None:
    await sql.execute("alter function ledger.ensure_months() rename to ensure_months_away")
    try:
        await ledger.send([usage_event(1)])
    finally:
        await sql.execute("alter function ledger.ensure_months_away() rename to ensure_months")
    assert await sql.fetchval("select count(*) from ledger.usage_event") == 1
    assert [event.name for event in telemetry.events] == ["usage_months_not_made"]


async def test_every_member_of_an_event_is_stored(sql: asyncpg.Connection, ledger: PostgresUsageLedger) -> None:
    event = usage_event(1, chain=ModelName("chain"), uncounted=True)
    await ledger.send([event])
    row = await sql.fetchrow("select * from ledger.usage_event")
    usage, names = event.usage, ("tenant", "key_id", "model", "chain", "vendor", "node", "vendor_model")
    assert [row[name] for name in names] == [getattr(event, name) for name in names]
    assert (row["prompt_tokens"], row["completion_tokens"]) == (usage.prompt_tokens, usage.completion_tokens)
    assert (row["estimated"], row["streamed"], row["priced"], row["uncounted"], row["from_cache"]) == (
        usage.estimated,
        event.streamed,
        event.priced,
        event.uncounted,
        event.from_cache,
    )
    assert (row["at"].timestamp(), row["started_at"].timestamp()) == (AT_S, AT_S - 0.5)


async def test_a_batch_with_an_impossible_event_is_refused_whole(
    sql: asyncpg.Connection, ledger: PostgresUsageLedger
) -> None:
    with pytest.raises(LedgerAway) as refused:
        await ledger.send([usage_event(1), usage_event(2, request_id=RequestId("no-uuid"))])
    assert refused.value.kind == "refused"
    assert await sql.fetchval("select count(*) from ledger.usage_event") == 0


@pytest.mark.parametrize("text", ["", "nonsense", "xyz"])
def test_a_text_that_is_no_id_has_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        wall_ms_of(text)


async def test_a_database_without_the_schema_is_away(bare_dsn: str, telemetry: MemoryTelemetry) -> None:
    database = Database(bare_dsn)
    await database.open()
    ledger = PostgresUsageLedger(database, telemetry)
    with pytest.raises(LedgerAway):
        await ledger.send([usage_event(1)])
    assert not await ledger.answers()
    await database.close()


@pytest.fixture
async def reader(postgres_dsn: str, sql: asyncpg.Connection) -> AsyncIterator[str]:
    """A user who may come in, and to whom nobody granted anything: its DSN."""
    await sql.execute("create role without_rights login password 'without-rights'")
    parts = urlsplit(postgres_dsn)
    assert parts.hostname is not None
    yield urlunsplit(parts._replace(netloc=f"without_rights:without-rights@{parts.hostname}:{parts.port}"))
    await sql.execute("drop role without_rights")


@pytest.mark.parametrize(
    "ask",
    [
        lambda ledger: ledger.usage(UsageQuery(0, 1)),
        lambda ledger: ledger.spent(["key:a"]),
        lambda ledger: ledger.send([usage_event(1)]),
    ],
    ids=["usage", "spent", "send"],
)
async def test_a_database_that_grants_no_rights_refuses_what_is_asked(
    reader: str, telemetry: MemoryTelemetry, ask: Callable[[PostgresUsageLedger], Awaitable[object]]
) -> None:
    database = Database(reader)
    await database.open()
    ledger = PostgresUsageLedger(database, telemetry)
    with pytest.raises(LedgerAway) as refused:
        await ask(ledger)
    assert refused.value.kind == "refused"
    await database.close()


async def test_a_database_that_grants_no_rights_does_not_answer(reader: str, telemetry: MemoryTelemetry) -> None:
    database = Database(reader)
    await database.open()
    assert not await PostgresUsageLedger(database, telemetry).answers()
    await database.close()


async def test_an_event_of_no_calendar_is_refused(ledger: PostgresUsageLedger) -> None:
    with pytest.raises(LedgerAway):
        await ledger.send([replace(usage_event(1), started_at=1e30)])


async def test_a_database_with_the_schema_answers(ledger: PostgresUsageLedger) -> None:
    assert await ledger.answers()


REPLICAS, TASKS, BATCHES, PER_BATCH, TEAMS = 4, 50, 4, 10, 3

WRITER = f"""
import asyncio, sys
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.usage_ledger import PostgresUsageLedger
from ktms.domain.ids import TenantName
from tests.usage_events import usage_event

REPLICA = int(sys.argv[2])

async def write(ledger, task):
    entropy = SeededEntropy(f"{{REPLICA}}/{{task}}")
    for batch in range({BATCHES}):
        first = ((REPLICA * {TASKS} + task) * {BATCHES} + batch) * {PER_BATCH}
        events = [usage_event(first + n, tenant=TenantName(f"team-{{n % {TEAMS}}}")) for n in range({PER_BATCH})]
        events.sort(key=lambda event: entropy.uniform(0, 1))
        await ledger.send(events)

async def main():
    database = Database(sys.argv[1], connections_max=20)
    await database.open()
    ledger = PostgresUsageLedger(database, MemoryTelemetry())
    print("begins", flush=True)
    async with asyncio.TaskGroup() as group:
        for task in range({TASKS}):
            group.create_task(write(ledger, task))
    await database.close()

asyncio.run(main())
"""


async def test_x04_many_writers_on_few_balances_never_lose_an_amount(
    postgres_dsn: str, sql: asyncpg.Connection
) -> None:
    def begun(replica: int) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, postgres_dsn, str(replica)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"begins\n"
        return process

    before = await sql.fetchval("select deadlocks from pg_stat_database where datname = current_database()")
    replicas = await asyncio.gather(*(asyncio.to_thread(begun, replica) for replica in range(REPLICAS)))
    replicas[1].kill()  # in the middle of its batches
    ends = await asyncio.gather(*(asyncio.to_thread(process.communicate) for process in replicas))
    codes = [process.returncode for process in replicas]
    assert codes[0] == codes[2] == codes[3] == 0, ends
    again = begun(1)
    assert (await asyncio.to_thread(again.communicate))[1] == b""

    rows = await sql.fetch(
        "select tenant, count(*) as attempts, sum(cost_picos)::bigint as cost from ledger.usage_event group by 1"
    )
    sums = await sql.fetch(
        "select tenant, sum(attempts)::bigint as attempts, sum(cost_picos)::bigint as cost "
        "from ledger.usage_day group by 1"
    )
    assert {tuple(row) for row in rows} == {tuple(row) for row in sums}
    assert sum(row["attempts"] for row in rows) == REPLICAS * TASKS * BATCHES * PER_BATCH
    after = await sql.fetchval("select deadlocks from pg_stat_database where datname = current_database()")
    assert after == before


async def test_the_order_of_events_in_a_batch_takes_locks_in_one_order(
    ledger: PostgresUsageLedger, sql: asyncpg.Connection
) -> None:
    events = [usage_event(number, tenant=TenantName(f"team-{number % 7}")) for number in range(100)]
    entropy = SeededEntropy("order")
    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            mixed = sorted(events, key=lambda _: entropy.uniform(0, 1))
            group.create_task(ledger.send(mixed))
    assert await sql.fetchval("select count(*) from ledger.usage_event") == 100
    assert await sql.fetchval("select sum(attempts)::bigint from ledger.usage_day") == 100
