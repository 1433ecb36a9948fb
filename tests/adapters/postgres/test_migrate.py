import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

import asyncpg
import pytest

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.migrate import LOCK_ID, MigrationRefused, Migrator
from ktms.adapters.postgres.migration_files import Migration, read_migrations, shipped_folder
from ktms.ports.catalogue import StoreAway
from ktms.ports.entropy import Entropy

TURNED_WITHIN_S = 20.0
TABLE = "create table t (id bigint primary key);"
INDEX = "-- ktms: outside a transaction\ncreate unique index concurrently if not exists t_v on t (v);"


class Gate(Protocol):
    answer: Callable[[bytes], bytes]


class Migrating(Protocol):
    def __call__(self, *files: str, dsn: str = "", lock_wait_s: float = 30.0) -> Migrator: ...


@pytest.fixture
def migrating(
    bare_dsn: str, tmp_path: Path, entropy: Entropy, telemetry: MemoryTelemetry, monkeypatch: pytest.MonkeyPatch
) -> Migrating:
    """Make a migrator for files of these contents, 0001 first; without any, for the shipped ones."""
    monkeypatch.setattr("ktms.adapters.postgres.migrate.LOCK_POLL_S", 0.02)
    monkeypatch.setattr("ktms.adapters.postgres.migrate.LOCK_TIMEOUT_MS", 50)
    monkeypatch.setattr("ktms.adapters.postgres.migrate.ROUND_PAUSE_S", 0.02)

    def make(*files: str, dsn: str = "", lock_wait_s: float = 30.0) -> Migrator:
        found: tuple[Migration, ...]
        if files:
            for number, sql in enumerate(files, start=1):
                (tmp_path / f"{number:04d}_make_thing.sql").write_text(sql, encoding="utf-8")
            found = read_migrations(tmp_path)[: len(files)]
        else:
            found = read_migrations(shipped_folder())
        return Migrator(
            dsn or bare_dsn,
            found,
            app_version="1.2.3",
            entropy=entropy,
            telemetry=telemetry,
            lock_wait_s=lock_wait_s,
        )

    return make


@pytest.fixture
async def bare_sql(bare_dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(bare_dsn)
    yield connection
    await connection.close()


async def applied(sql: asyncpg.Connection) -> list[int]:
    return [row["number"] for row in await sql.fetch("select number from ktms_migration order by number")]


async def test_the_shipped_files_are_applied_once(migrating: Migrating, bare_sql: asyncpg.Connection) -> None:
    names = await migrating().check()
    assert names[0] == "0001_create_foundation.sql"
    assert await migrating().run() == names
    assert await migrating().run() == ()
    assert await migrating().check() == ()
    assert await applied(bare_sql) == list(range(1, len(names) + 1))
    assert await bare_sql.fetchval("select app_version from ktms_migration limit 1") == "1.2.3"


async def test_checking_changes_nothing(migrating: Migrating, bare_sql: asyncpg.Connection) -> None:
    await migrating().check()
    assert (
        await bare_sql.fetchval("select count(*) from pg_class where relnamespace = 'public'::regnamespace") == 0
    )


async def test_of_five_that_start_at_once_one_applies_and_all_get_ready(
    migrating: Migrating, bare_sql: asyncpg.Connection
) -> None:
    files = (TABLE, "alter table t add column v bigint;", INDEX)
    runners = [migrating(*files) for _ in range(5)]
    async with asyncio.timeout(TURNED_WITHIN_S), asyncio.TaskGroup() as group:
        tasks = [group.create_task(runner.run()) for runner in runners]
    assert sorted(len(task.result()) for task in tasks) == [0, 0, 0, 0, 3]
    assert await applied(bare_sql) == [1, 2, 3]
    assert await bare_sql.fetchval("select indisvalid from pg_index where indexrelid = 't_v'::regclass")


async def test_a_killed_holder_leaves_nothing_half_done_and_the_next_one_takes_over(
    migrating: Migrating, bare_sql: asyncpg.Connection, telemetry: MemoryTelemetry
) -> None:
    slow = f"{TABLE} create table half (id bigint primary key); select pg_sleep(60);"
    first = migrating("select 1;", slow)
    quick = migrating("select 1;", slow.replace("pg_sleep(60)", "pg_sleep(0)"))

    async def die() -> None:
        with pytest.raises(StoreAway, match="migrate: the database does not answer"):
            await first.run()

    async with asyncio.timeout(TURNED_WITHIN_S), asyncio.TaskGroup() as group:
        group.create_task(die())
        working = "select pid from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()"
        while (pid := await bare_sql.fetchval(working)) is None:  # each look is a round trip
            pass
        second = group.create_task(quick.run())
        while not any(event.name == "migration_waits" for event in telemetry.events):
            await bare_sql.fetchval("select 1")
        await bare_sql.execute("select pg_terminate_backend($1)", pid)
    assert second.result() == ("0002_make_thing.sql",)
    assert await applied(bare_sql) == [1, 2]


async def test_a_waiter_says_who_holds_the_lock_and_gives_up_in_time(
    migrating: Migrating, bare_sql: asyncpg.Connection, telemetry: MemoryTelemetry
) -> None:
    await bare_sql.execute("set application_name = 'the holder'")
    await bare_sql.execute("select pg_advisory_lock($1)", LOCK_ID)
    with pytest.raises(MigrationRefused, match="another process has held the migration lock"):
        await migrating(TABLE, lock_wait_s=0.2).run()
    assert "the holder" in str(telemetry.events[0].facts["holder"])


async def test_the_lock_is_free_after_a_run(migrating: Migrating, bare_sql: asyncpg.Connection) -> None:
    await migrating(TABLE).run()
    async with asyncio.timeout(TURNED_WITHIN_S):
        while not await bare_sql.fetchval("select pg_try_advisory_lock($1)", LOCK_ID):
            pass


async def test_a_file_changed_after_it_was_applied_is_refused(migrating: Migrating) -> None:
    await migrating(TABLE).run()
    with pytest.raises(MigrationRefused, match=r"0001_make_thing\.sql was applied with another content"):
        await migrating(TABLE + " -- edited").run()


async def test_a_database_ahead_of_this_version_is_accepted(migrating: Migrating) -> None:
    await migrating(TABLE, "alter table t add column v bigint;").run()
    assert await migrating(TABLE).run() == ()


async def test_a_database_too_far_ahead_is_refused(migrating: Migrating) -> None:
    await migrating(TABLE, "-- ktms: min_compatible 0002\nalter table t add column v bigint;").run()
    with pytest.raises(MigrationRefused, match=r"gateways older than 0002 cannot use .*: run a newer version"):
        await migrating(TABLE).check()


async def test_a_failing_file_is_told_and_rolled_back_and_earlier_ones_stay(
    migrating: Migrating, bare_sql: asyncpg.Connection
) -> None:
    with pytest.raises(MigrationRefused, match=r"0002_make_thing.sql failed and was rolled back: .*no_such_table"):
        await migrating(
            TABLE, "create table half (id bigint primary key); alter table no_such_table add v int;"
        ).run()
    assert await applied(bare_sql) == [1]
    assert await bare_sql.fetchval("select to_regclass('half')") is None


async def test_a_long_read_is_let_through_and_the_file_comes_again(
    migrating: Migrating, bare_sql: asyncpg.Connection, telemetry: MemoryTelemetry
) -> None:
    files = (TABLE, "alter table t add column v bigint;")
    await migrating(*files[:1]).run()
    reading = bare_sql.transaction()
    await reading.start()
    await bare_sql.execute("select from t")
    async with asyncio.timeout(TURNED_WITHIN_S), asyncio.TaskGroup() as group:
        task = group.create_task(migrating(*files).run())
        while not any(event.name == "migration_repeats" for event in telemetry.events):
            await bare_sql.fetchval("select 1")
        await reading.commit()
    assert task.result() == ("0002_make_thing.sql",)


async def test_a_table_locked_for_good_is_given_up_with_a_clear_word(
    migrating: Migrating, bare_sql: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ktms.adapters.postgres.migrate.ROUNDS_MAX", 2)
    files = (TABLE, "alter table t add column v bigint;")
    await migrating(*files[:1]).run()
    async with bare_sql.transaction():
        await bare_sql.execute("select from t")
        with pytest.raises(MigrationRefused, match="found its tables locked 2 times: end the long transactions"):
            await migrating(*files).run()


async def test_an_index_left_invalid_by_an_interruption_is_built_again(
    migrating: Migrating, bare_sql: asyncpg.Connection
) -> None:
    files = ("create table t (id bigint primary key, v bigint);", INDEX)
    await migrating(*files[:1]).run()
    await bare_sql.execute("insert into t values (1, 1), (2, 1)")
    with pytest.raises(MigrationRefused, match=r"0002_make_thing\.sql failed"):
        await migrating(*files).run()
    valid = "select indisvalid from pg_index where indexrelid = 't_v'::regclass"
    assert await bare_sql.fetchval(valid) is False
    await bare_sql.execute("update t set v = id")
    assert await migrating(*files).run() == ("0002_make_thing.sql",)
    assert await bare_sql.fetchval(valid) is True


async def test_a_pooler_before_the_database_is_told_with_the_remedy(
    migrating: Migrating, bare_dsn: str, postgres_gate: Gate, gated_bare_dsn: str
) -> None:
    """As poolers do, the gate makes up the process id of the handshake (message K of the protocol)."""
    postgres_gate.answer = lambda piece: (
        piece
        if (at := piece.find(b"K\0\0\0\x0c")) < 0
        else piece[: at + 5] + (12345).to_bytes(4, "big") + piece[at + 9 :]
    )
    with pytest.raises(MigrationRefused, match=r"pooler stands before .* set KTMS_DATABASE_DIRECT_URL"):
        await migrating(TABLE, dsn=gated_bare_dsn).run()
    assert await migrating(TABLE).run() == ("0001_make_thing.sql",)


async def test_a_lock_lost_between_two_files_ends_the_run(
    migrating: Migrating, bare_sql: asyncpg.Connection
) -> None:
    with pytest.raises(MigrationRefused, match="lock was lost between two statements"):
        await migrating(f"{TABLE} select pg_advisory_unlock_all();", "select 1;").run()
    assert await applied(bare_sql) == [1]


async def test_a_database_that_is_not_there_is_away(migrating: Migrating) -> None:
    refused = migrating(TABLE, dsn="postgresql://ktms:canary-password@127.0.0.1:1/none")
    with pytest.raises(StoreAway, match="migrate: the database does not answer") as told:
        await refused.run()
    assert "canary" not in str(told.value)
