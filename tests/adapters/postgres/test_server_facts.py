import time

import pytest

from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
from ktms.adapters.postgres.pool import Database, open_database
from ktms.adapters.postgres.server_facts import read_facts, why_away
from ktms.ports.catalogue import StoreAway

CANARY = "canary"


async def why(dsn: str) -> str:
    async with open_database(dsn, connections_max=1) as database:
        with pytest.raises(StoreAway) as away:
            await read_facts(database)
    return why_away(away.value)


async def test_a_server_tells_what_it_is(database: Database) -> None:
    facts = await read_facts(database)
    assert (facts.connections_max, facts.read_only, facts.encrypted) == (200, False, False)
    assert facts.version[0].isdigit()
    assert abs(facts.clock_s - time.time()) < 60  # noqa: TID251 - both are this machine's


async def test_a_database_that_is_not_there_is_told_from_a_server_that_is_not(
    postgres_server: EmbeddedPostgres,
) -> None:
    assert await why(postgres_server.dsn_of("nowhere")) == "it has no database of this name"
    assert await why("postgresql://u@127.0.0.1:1/x") == "nobody listens there"


async def test_a_wrong_password_is_told_without_it(postgres_server: EmbeddedPostgres) -> None:
    server = postgres_server.dsn.split("@")[1]
    assert await why(f"postgresql://ktms:{CANARY}@{server}") == "it refuses this user or password"


async def test_an_unknown_host_is_told() -> None:
    assert (await why("postgresql://u@nowhere.invalid/x")).startswith("the name is unknown")


def test_a_cause_without_words_is_named_by_its_kind() -> None:
    away = StoreAway("x")
    assert why_away(away) == "it does not answer as it should"
    away.__cause__ = ZeroDivisionError(CANARY)
    assert why_away(away) == "ZeroDivisionError"
