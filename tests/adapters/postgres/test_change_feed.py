"""What only the real feed does; the rest is in tests/contracts."""

import asyncio
from typing import Protocol

import asyncpg
import pytest

from ktms.adapters.postgres.change_feed import WAITING_MAX, PostgresChangeFeed
from ktms.ports.catalogue import StoreAway
from ktms.ports.change_feed import CatalogueChanged, News
from tests.adapters.postgres.parting_server import parting_server

ENDS_WITHIN_S = 5.0


class Gate(Protocol):
    def hang(self) -> None: ...


class Listener:
    """Collects what a feed says."""

    def __init__(self) -> None:
        self.news: list[News] = []
        self.heard = asyncio.Event()

    async def collect(self, feed: PostgresChangeFeed) -> None:
        async for one in feed.listen():
            self.news.append(one)
            self.heard.set()

    async def begin(self, sql: asyncpg.Connection) -> None:
        """Send news until some arrives: a feed does not say when it can hear."""
        async with asyncio.timeout(ENDS_WITHIN_S):
            while not self.heard.is_set():
                await sql.execute("notify ktms_catalogue, '1'")


async def test_a_peer_that_is_silent_for_good_ends_the_feed(
    gated_dsn: str, postgres_gate: Gate, sql: asyncpg.Connection
) -> None:
    feed = PostgresChangeFeed(gated_dsn, timeout_s=0.5, silence_max_s=0.2)
    listener = Listener()
    async with asyncio.timeout(ENDS_WITHIN_S), asyncio.TaskGroup() as group:
        group.create_task(listener.collect(feed))
        await listener.begin(sql)
        postgres_gate.hang()
    assert set(listener.news) == {CatalogueChanged()}


async def test_a_silent_but_living_peer_is_kept(postgres_dsn: str, sql: asyncpg.Connection) -> None:
    feed = PostgresChangeFeed(postgres_dsn, silence_max_s=0.02)
    listener = Listener()
    asked = "select count(*) from pg_stat_activity where application_name = 'ktms-feed' and query = 'select 1'"
    async with asyncio.timeout(ENDS_WITHIN_S), asyncio.TaskGroup() as group:
        group.create_task(listener.collect(feed))
        await listener.begin(sql)
        while await sql.fetchval(asked) == 0:  # each look is a round trip
            pass
        listener.heard.clear()
        await listener.begin(sql)
        await sql.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ktms-feed'"
        )


async def test_who_takes_too_slowly_gets_an_end_instead_of_a_gap(
    postgres_dsn: str, sql: asyncpg.Connection
) -> None:
    news = PostgresChangeFeed(postgres_dsn).listen()
    many = "select pg_notify('ktms_key', n::text) from generate_series(1, $1::int) as n"
    async with asyncio.timeout(ENDS_WITHIN_S), asyncio.TaskGroup() as group:
        begun = asyncio.Event()

        async def first() -> None:
            await anext(news)
            begun.set()

        group.create_task(first())
        while not begun.is_set():
            await sql.execute("notify ktms_catalogue, '1'")
        for _ in range(2):
            await sql.execute(many, WAITING_MAX)
        left = [one async for one in news]
    assert WAITING_MAX <= len(left) < 2 * WAITING_MAX


async def test_a_listener_that_leaves_closes_its_connection(postgres_dsn: str, sql: asyncpg.Connection) -> None:
    listener = Listener()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.collect(PostgresChangeFeed(postgres_dsn)))
        await listener.begin(sql)
        task.cancel()
    async with asyncio.timeout(ENDS_WITHIN_S):
        while await sql.fetchval("select count(*) from pg_stat_activity where application_name = 'ktms-feed'"):
            pass


async def test_fp1_a_server_that_leaves_with_its_first_word_is_away() -> None:
    async with parting_server() as dsn:
        with pytest.raises(StoreAway, match="listen: the database does not answer"):
            await anext(PostgresChangeFeed(dsn).listen())
