"""Prices in their two tables, row by row."""

from dataclasses import replace
from decimal import Decimal

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktms.adapters.postgres.price_tables import read_prices, save_prices
from ktms.domain.catalogue import PriceSpec
from ktms.ports.entropy import Entropy

ALWAYS = PriceSpec("local", "x", Decimal("0.1"), Decimal("0.05"), Decimal("0.2"), Decimal("0.4"))
LATER = replace(ALWAYS, input=Decimal("0.3"), valid_from=1_785_542_400)
OTHER = PriceSpec("local", "y", Decimal("0.2"))
PRICES = (ALWAYS, LATER, OTHER)


@pytest.fixture
async def saved(sql: asyncpg.Connection, entropy: Entropy) -> asyncpg.Connection:
    await save_prices(sql, entropy, PRICES)
    return sql


async def rows(sql: asyncpg.Connection, table: str) -> list[tuple[object, ...]]:
    found = await sql.fetch(f"select model, input, position from {table} order by position")  # noqa: S608  # ours
    return [tuple(row) for row in found]


async def test_what_holds_from_always_on_lies_where_older_gateways_look(saved: asyncpg.Connection) -> None:
    assert await rows(saved, "price") == [("x", Decimal("0.1"), 1), ("y", Decimal("0.2"), 3)]
    assert await rows(saved, "dated_price") == [("x", Decimal("0.3"), 2)]


async def test_prices_come_back_in_file_order_whichever_table_they_lie_in(saved: asyncpg.Connection) -> None:
    assert await read_prices(saved) == PRICES


async def test_a_changed_price_says_when_it_was_stored(saved: asyncpg.Connection, entropy: Entropy) -> None:
    before = await saved.fetchval("select valid_from from price where model = 'x'")
    await save_prices(saved, entropy, (replace(ALWAYS, input=Decimal(1)), LATER, OTHER))
    assert await saved.fetchval("select valid_from > $1 from price where model = 'x'", before)


async def test_prices_that_do_not_change_are_not_touched(saved: asyncpg.Connection, entropy: Entropy) -> None:
    written = "select model, xmin::text from {} order by model"
    before = [await saved.fetch(written.format(table)) for table in ("price", "dated_price")]
    await save_prices(saved, entropy, PRICES)
    assert [await saved.fetch(written.format(table)) for table in ("price", "dated_price")] == before


@pytest.mark.parametrize("kept", [(), (ALWAYS,), (LATER,), (OTHER, ALWAYS)])
async def test_prices_that_are_not_given_go(
    saved: asyncpg.Connection, entropy: Entropy, kept: tuple[PriceSpec, ...]
) -> None:
    await save_prices(saved, entropy, kept)
    assert await read_prices(saved) == kept


async def test_a_price_that_gets_a_beginning_changes_its_table(
    saved: asyncpg.Connection, entropy: Entropy
) -> None:
    begun = replace(OTHER, valid_from=0)
    await save_prices(saved, entropy, (begun,))
    assert await read_prices(saved) == (begun,)
    assert await rows(saved, "price") == []


AMOUNTS = st.decimals(0, 10_000, places=6)
LISTS = st.lists(
    st.builds(
        PriceSpec,
        st.just("local"),
        st.sampled_from(["x", "y"]),
        AMOUNTS,
        st.none() | AMOUNTS,
        st.none() | AMOUNTS,
        AMOUNTS,
        st.none() | st.integers(0, 253_402_300_799).map(float),
    ),
    max_size=5,
    unique_by=lambda price: (price.model, price.valid_from),
).map(tuple)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LISTS)
async def test_every_list_of_prices_comes_back_whatever_was_stored_before(
    sql: asyncpg.Connection, entropy: Entropy, prices: tuple[PriceSpec, ...]
) -> None:
    await save_prices(sql, entropy, prices)
    assert await read_prices(sql) == prices
