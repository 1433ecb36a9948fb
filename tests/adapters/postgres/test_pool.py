import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Protocol

import asyncpg
import pytest

from ktms.adapters.postgres import pool
from ktms.adapters.postgres.pool import Database, speaks_of_server
from ktms.ports.catalogue import StoreAway
from tests.adapters.postgres.parting_server import parting_server

SHORT_S = 0.3
SLACK_S = 1.0


class Gate(Protocol):
    port: int

    def hang(self) -> None: ...
    def flow(self) -> None: ...
    async def open(self) -> None: ...
    async def close(self) -> None: ...


@pytest.fixture
async def gated(gated_dsn: str) -> AsyncIterator[Database]:
    database = Database(gated_dsn, connections_max=3, timeout_s=SHORT_S)
    await database.open()
    yield database
    await database.close()


async def ask(database: Database, statement: str = "select 1") -> object:
    async with database.session("ask") as connection:
        return await connection.fetchval(statement)


async def seconds_of(work: Callable[[], object]) -> float:
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(StoreAway):
        await work()  # type: ignore[misc]  # a coroutine function, as all callers pass
    return loop.time() - began


async def test_opening_needs_no_server() -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/none")
    await database.open()
    with pytest.raises(StoreAway, match="ask: the database does not answer"):
        await ask(database)
    await database.close()


async def test_a_hung_server_costs_no_more_than_the_bound(gated: Database, postgres_gate: Gate) -> None:
    assert await ask(gated) == 1
    postgres_gate.hang()
    assert SHORT_S * 0.9 < await seconds_of(lambda: ask(gated)) < SHORT_S + SLACK_S


async def test_a_server_that_hangs_while_connecting_costs_no_more_than_the_bound(
    gated: Database, postgres_gate: Gate
) -> None:
    postgres_gate.hang()
    assert await seconds_of(lambda: ask(gated)) < SHORT_S + SLACK_S


async def test_a_server_that_hangs_inside_a_transaction_costs_no_more_than_the_bound(
    gated: Database, postgres_gate: Gate
) -> None:
    async def work() -> None:
        async with gated.transaction("work") as connection:
            postgres_gate.hang()
            await connection.fetchval("select 1")

    assert await seconds_of(work) < SHORT_S + SLACK_S


async def test_a_server_that_comes_back_is_used_again_at_once(gated: Database, postgres_gate: Gate) -> None:
    assert await ask(gated) == 1
    postgres_gate.hang()
    await seconds_of(lambda: ask(gated))
    postgres_gate.flow()
    assert await ask(gated) == 1


async def test_a_refused_connection_is_away_and_a_new_server_is_found(
    gated: Database, postgres_gate: Gate
) -> None:
    assert await ask(gated) == 1
    await postgres_gate.close()
    with pytest.raises(StoreAway):
        await ask(gated)
    await postgres_gate.open()
    assert await ask(gated) == 1


async def test_fp1_a_server_that_leaves_with_its_first_word_is_away_however_often_it_is_asked() -> None:
    async with parting_server() as dsn:
        database = Database(dsn, connections_max=1, through_pooler=True)
        await database.open()
        for _ in range(3):
            with pytest.raises(StoreAway, match="ask: the database does not answer"):
                await ask(database)
        await database.close()


async def test_the_pool_never_grows_past_its_bound_and_waiting_is_bounded(
    gated: Database, sql: asyncpg.Connection
) -> None:
    held = asyncio.Event()

    async def hold() -> None:
        async with gated.session("hold", 5.0) as connection:
            await connection.fetchval("select 1")
            await held.wait()

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(hold())
        await asyncio.sleep(0)
        assert await seconds_of(lambda: ask(gated)) < SHORT_S + SLACK_S
        ours = "datname = current_database() and application_name = 'ktms'"
        used = f"select count(*) from pg_stat_activity where {ours}"  # noqa: S608  # a constant
        assert await sql.fetchval(used) == 3
        held.set()
    assert await ask(gated) == 1


async def test_a_cancelled_caller_gives_its_connection_back(gated: Database) -> None:
    async def wait_long() -> None:
        async with gated.transaction("long") as connection:
            await connection.fetchval("select pg_sleep(60)")

    for _ in range(4):  # more often than there are connections
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await wait_long()
    assert await ask(gated) == 1


async def test_a_transaction_is_rolled_back_when_anything_is_raised(
    database: Database, sql: asyncpg.Connection
) -> None:
    async def work() -> None:
        async with database.transaction("work") as connection:
            await connection.execute("update catalogue_version set version = 9")
            raise LookupError

    with pytest.raises(LookupError):
        await work()
    assert await sql.fetchval("select version from catalogue_version") == 0


async def test_a_snapshot_transaction_cannot_write(database: Database) -> None:
    with pytest.raises(StoreAway):  # as after a failover to a read-only server
        async with database.transaction("work", snapshot=True) as connection:
            await connection.execute("update catalogue_version set version = 9")


async def test_our_own_mistakes_are_not_taken_for_an_outage(database: Database) -> None:
    with pytest.raises(asyncpg.PostgresSyntaxError):
        await ask(database, "selekt 1")
    assert await ask(database) == 1


async def test_a_wrong_password_is_away_and_not_shown(postgres_dsn: str) -> None:
    database = Database(postgres_dsn.replace("@", "-wrong-secret@"))
    await database.open()
    with pytest.raises(StoreAway) as told:
        await ask(database)
    assert "wrong-secret" not in str(told.value)
    await database.close()


async def test_through_a_pooler_nothing_is_prepared_by_name_or_set_at_start(
    postgres_dsn: str, sql: asyncpg.Connection
) -> None:
    database = Database(postgres_dsn, through_pooler=True)
    await database.open()
    async with database.session("look") as connection:
        assert await connection.fetchval("select $1::int", 5) == 5
        assert await connection.fetchval("select count(*) from pg_prepared_statements where name <> ''") == 0
        assert await connection.fetchval("show idle_in_transaction_session_timeout") == "0"
    await database.close()
    assert await sql.fetchval("select 1") == 1


async def test_giving_a_connection_back_costs_no_round_trip(gated: Database, postgres_gate: Gate) -> None:
    loop = asyncio.get_running_loop()
    async with gated.session("ask") as connection:
        await connection.fetchval("select 1")
        postgres_gate.hang()
        began = loop.time()
    assert loop.time() - began < 0.1


async def test_closing_twice_is_harmless(postgres_dsn: str) -> None:
    database = Database(postgres_dsn)
    await database.open()
    await database.close()
    await database.close()


@pytest.mark.parametrize("statement", ["select 1 from catalogue_of_tomorrow", "select tomorrow from pg_class"])
async def test_a_schema_that_is_not_migrated_yet_is_away(bare_dsn: str, statement: str) -> None:
    database = Database(bare_dsn)
    await database.open()
    with pytest.raises(StoreAway, match="not migrated yet"):
        async with database.session("ask") as connection:
            await connection.fetchval(statement)
    await database.close()


async def test_fg10_a_schema_that_changes_under_a_kept_plan_is_away_for_once(bare_dsn: str) -> None:
    database = Database(bare_dsn)
    await database.open()

    async def read() -> None:
        async with database.transaction("read", snapshot=True) as connection:
            await connection.fetch("select * from growing")

    async with database.session("prepare") as connection:
        await connection.execute("create table growing (first int)")
    await read()
    async with database.session("migrate") as connection:
        await connection.execute("alter table growing add column second int")
    with pytest.raises(StoreAway, match="InvalidCachedStatementError"):
        await read()
    await read()
    await database.close()


@pytest.mark.parametrize(
    ("error", "about_server"),
    [
        (ConnectionRefusedError(), True),
        (TimeoutError(), True),
        (asyncpg.TooManyConnectionsError(), True),
        (asyncpg.CannotConnectNowError(), True),
        (asyncpg.AdminShutdownError(), True),
        (asyncpg.ReadOnlySQLTransactionError(), True),
        (asyncpg.IdleInTransactionSessionTimeoutError(), True),
        (asyncpg.DeadlockDetectedError(), True),
        (asyncpg.InvalidCatalogNameError(), True),
        (asyncpg.InterfaceError("connection is closed"), True),
        (asyncpg.InternalClientError("cannot switch to state 11"), True),
        (asyncpg.DataError("invalid input"), False),
        (asyncpg.UniqueViolationError(), False),
        (asyncpg.UndefinedTableError(), False),
        (ValueError(), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_errors_about_the_server_are_told_from_those_about_our_statement(
    error: Exception, about_server: bool
) -> None:
    assert speaks_of_server(error) is about_server


async def test_a_pool_that_is_closed_is_away(postgres_dsn: str) -> None:
    database = Database(postgres_dsn)
    await database.open()
    await database.close()
    with pytest.raises(StoreAway, match="not open"):
        await ask(database)


async def test_fp10_what_waits_for_a_lock_ends_on_the_server_when_it_is_given_up(
    gated: Database, sql: asyncpg.Connection
) -> None:
    waiting = "select count(*) from pg_stat_activity where application_name = 'ktms' and wait_event_type = 'Lock'"
    async with sql.transaction():
        await sql.execute("lock table client_key in access exclusive mode")
        for _ in range(2):
            await seconds_of(lambda: ask(gated, "select count(*) from client_key"))
        async with asyncio.timeout(SLACK_S):
            while await sql.fetchval(waiting):
                pass


async def test_fp10_the_server_never_has_more_of_our_sessions_than_the_pool_has_places(
    gated: Database, postgres_dsn: str, sql: asyncpg.Connection
) -> None:
    ours = "datname = current_database() and application_name = 'ktms'"
    used = f"select count(*) from pg_stat_activity where {ours}"  # noqa: S608  # a constant
    counts: list[int] = []
    holder = await asyncpg.connect(postgres_dsn)  # in a transaction the counts would stand still
    await holder.execute("begin; lock table client_key in access exclusive mode")
    async with asyncio.TaskGroup() as group:
        loop = asyncio.get_running_loop()
        until = loop.time() + 4 * SHORT_S

        async def ask_on() -> None:
            while loop.time() < until:
                await seconds_of(lambda: ask(gated, "select count(*) from client_key"))

        for _ in range(9):
            group.create_task(ask_on())
        while loop.time() < until:
            counts.append(await sql.fetchval(used))
    await holder.close()
    assert max(counts) == 3


async def test_fp10_a_server_that_cannot_look_for_its_clients_is_used_all_the_same(
    monkeypatch: pytest.MonkeyPatch, postgres_dsn: str
) -> None:
    monkeypatch.setattr(pool, "WATCH_CLIENT", "select set_config('no_such_setting_of_it', '250ms', false)")
    database = Database(postgres_dsn)
    await database.open()
    assert await ask(database) == 1
    await database.close()
