"""Prices in their two tables: `price` has those that hold from always on, `dated_price` those with a beginning.

Two, because an older gateway knows the first alone and wants one row for each target there. Untouched rows stay
untouched. Not here: deciding what is written (`domain/catalogue_plan.py`).
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import asyncpg

from ktms.adapters.postgres.row_ids import new_row_id
from ktms.domain.catalogue import PriceSpec
from ktms.ports.entropy import Entropy

_READ = """
select vendor, model, input, cached_input, cache_write, output, null::timestamptz as valid_from, position
from price
union all
select vendor, model, input, cached_input, cache_write, output, valid_from, position from dated_price
order by position, vendor, model, valid_from
"""

_SAVE = """
insert into price (id, vendor, model, input, cached_input, cache_write, output, position)
select * from unnest($1::uuid[], $2::text[], $3::text[],
    $4::numeric[], $5::numeric[], $6::numeric[], $7::numeric[], $8::bigint[])
on conflict (vendor, model) do update set input = excluded.input, cached_input = excluded.cached_input,
    cache_write = excluded.cache_write, output = excluded.output, position = excluded.position, valid_from = now()
where (price.input, price.cached_input, price.cache_write, price.output, price.position)
    is distinct from
    (excluded.input, excluded.cached_input, excluded.cache_write, excluded.output, excluded.position)
"""

_SAVE_DATED = """
insert into dated_price (id, vendor, model, input, cached_input, cache_write, output, position, valid_from)
select * from unnest($1::uuid[], $2::text[], $3::text[],
    $4::numeric[], $5::numeric[], $6::numeric[], $7::numeric[], $8::bigint[], $9::timestamptz[])
on conflict (vendor, model, valid_from) do update set input = excluded.input,
    cached_input = excluded.cached_input, cache_write = excluded.cache_write, output = excluded.output,
    position = excluded.position
where (dated_price.input, dated_price.cached_input, dated_price.cache_write, dated_price.output,
    dated_price.position)
    is distinct from
    (excluded.input, excluded.cached_input, excluded.cache_write, excluded.output, excluded.position)
"""

_REMOVE = """
delete from price where (vendor, model) not in (select * from unnest($1::text[], $2::text[]))
"""

_REMOVE_DATED = """
delete from dated_price where (vendor, model, valid_from) not in (
    select * from unnest($1::text[], $2::text[], $3::timestamptz[])
)
"""


async def read_prices(connection: asyncpg.Connection) -> tuple[PriceSpec, ...]:
    """Give all prices in file order."""
    return tuple(_price(row) for row in await connection.fetch(_READ))


async def save_prices(connection: asyncpg.Connection, entropy: Entropy, prices: Sequence[PriceSpec]) -> None:
    """Make the tables hold exactly these, in this order."""
    listed = list(enumerate(prices, start=1))
    always = [(position, price) for position, price in listed if price.valid_from is None]
    dated = [(position, price) for position, price in listed if price.valid_from is not None]
    await connection.execute(_SAVE, *_columns(entropy, always))
    await connection.execute(_SAVE_DATED, *_columns(entropy, dated), _beginnings(dated))
    await connection.execute(_REMOVE, *_targets(always))
    await connection.execute(_REMOVE_DATED, *_targets(dated), _beginnings(dated))


_Listed = Sequence[tuple[int, PriceSpec]]


def _price(row: asyncpg.Record) -> PriceSpec:
    since = row["valid_from"]
    return PriceSpec(
        vendor=row["vendor"],
        model=row["model"],
        input=row["input"],
        cached_input=row["cached_input"],
        cache_write=row["cache_write"],
        output=row["output"],
        valid_from=None if since is None else since.timestamp(),
    )


def _columns(entropy: Entropy, listed: _Listed) -> tuple[Sequence[object], ...]:
    return (
        [new_row_id(entropy) for _ in listed],
        *_targets(listed),
        [price.input for _, price in listed],
        [price.cached_input for _, price in listed],
        [price.cache_write for _, price in listed],
        [price.output for _, price in listed],
        [position for position, _ in listed],
    )


def _targets(listed: _Listed) -> tuple[Sequence[object], Sequence[object]]:
    return [price.vendor for _, price in listed], [price.model for _, price in listed]


def _beginnings(listed: _Listed) -> list[datetime]:
    return [datetime.fromtimestamp(price.valid_from, UTC) for _, price in listed if price.valid_from is not None]
