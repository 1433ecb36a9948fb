"""The statements of the ledger, and how usage events become their arguments: one array per column.

Rules: one statement stores a batch and adds to the sums of its days what was really new, so a repeat changes
nothing and sums equal rows at every moment; events and sums are taken in sorted order, so that two batches never
wait for one another in a circle. No amount that a vendor makes up may hold up the others' rows: what is beyond all
sense is stored as the most that fits.
"""

from collections.abc import Sequence
from datetime import date

from ktms.domain.access.usage_event import UsageEvent
from ktms.domain.access.usage_report import ROWS_MAX, Dimension
from ktms.domain.access.usage_sums import EPOCH_ORDINAL, FAILED, day_of, saved_picos

TOKENS_STORED_MAX = 1 << 40
"""A trillion tokens in one attempt: more is a vendor's nonsense, and sums of them must fit into 64 bits."""

PICOS_STORED_MAX = (1 << 63) - 1
"""Nine million dollars for one attempt."""

ESTIMATED, STREAMED, PRICED, UNCOUNTED, FROM_CACHE = 1, 2, 4, 8, 16
"""Bits of the one column that carries what is true or false."""

INGEST = """
with given as (
    select * from unnest(
        $1::uuid[], $2::bigint[], $3::date[], $4::uuid[], $5::float8[], $6::float8[], $7::float8[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bigint[],
        $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[],
        $24::bigint[], $25::int[], $26::text[], $27::bigint[]
    ) as given (
        id, at_ms, day, request_id, started_s, duration_s, first_token_s, tenant,
        key_id, model, chain, vendor, node, vendor_model, status, http_status,
        prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_picos,
        cloud_picos, saved_picos, flags, batch, batch_line
    )
), fresh as (
    insert into ledger.usage_event (
        id, at, day, request_id, started_at, duration_s, first_token_s, tenant,
        key_id, model, chain, vendor, node, vendor_model, status, http_status,
        prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_picos,
        cloud_picos, saved_picos, estimated, streamed, priced, uncounted, from_cache, batch, batch_line
    )
    select
        id, to_timestamp(0) + at_ms * interval '1 millisecond', day, request_id,
        to_timestamp(0) + started_s * interval '1 second', duration_s, first_token_s, tenant,
        key_id, model, chain, vendor, node, vendor_model, status, http_status,
        prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, cost_picos,
        cloud_picos, saved_picos, flags & 1 <> 0, flags & 2 <> 0, flags & 4 <> 0, flags & 8 <> 0, flags & 16 <> 0,
        batch, batch_line
    from given order by id
    on conflict do nothing
    returning
        day, tenant, key_id, model, vendor, coalesce(node, '') as node, status,
        prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, reasoning_tokens, estimated,
        cost_picos, saved_picos
)
insert into ledger.usage_day as known (
    day, tenant, key_id, model, vendor, node, attempts, failed,
    prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, reasoning_tokens, estimated,
    cost_picos, saved_picos
)
select
    day, tenant, key_id, model, vendor, node, count(*), count(*) filter (where status = any ($28::text[])),
    sum(prompt_tokens), sum(cached_tokens), sum(cache_write_tokens), sum(completion_tokens),
    sum(reasoning_tokens), count(*) filter (where estimated), sum(cost_picos), sum(saved_picos)
from fresh
group by day, tenant, key_id, model, vendor, node
order by day, tenant, key_id, model, vendor, node
on conflict (day, tenant, key_id, model, vendor, node) do update set
    attempts = known.attempts + excluded.attempts,
    failed = known.failed + excluded.failed,
    prompt_tokens = known.prompt_tokens + excluded.prompt_tokens,
    cached_tokens = known.cached_tokens + excluded.cached_tokens,
    cache_write_tokens = known.cache_write_tokens + excluded.cache_write_tokens,
    completion_tokens = known.completion_tokens + excluded.completion_tokens,
    reasoning_tokens = known.reasoning_tokens + excluded.reasoning_tokens,
    estimated = known.estimated + excluded.estimated,
    cost_picos = known.cost_picos + excluded.cost_picos,
    saved_picos = known.saved_picos + excluded.saved_picos
"""

SPENT = """
with today as (
    select (now() at time zone 'UTC')::date as day
), found as (
    select 'key:' || key_id as account, day, cost_picos from ledger.usage_day
    where key_id = any ($1::text[]) and day >= (select date_trunc('month', day)::date from today)
    union all
    select 'tenant:' || tenant, day, cost_picos from ledger.usage_day
    where tenant = any ($2::text[]) and day >= (select date_trunc('month', day)::date from today)
)
select
    today.day, found.account,
    coalesce(sum(found.cost_picos) filter (where found.day = today.day), 0) as day_picos,
    coalesce(
        sum(found.cost_picos) filter (where date_trunc('month', found.day) = date_trunc('month', today.day)), 0
    ) as month_picos
from today left join found on true
group by today.day, found.account
"""

_COLUMNS = {
    Dimension.DAY: "day",
    Dimension.TENANT: "tenant",
    Dimension.KEY: "key_id",
    Dimension.MODEL: "model",
    Dimension.VENDOR: "vendor",
    Dimension.NODE: "node",
}

_SUMS = (
    "attempts",
    "failed",
    "prompt_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "estimated",
    "cost_picos",
    "saved_picos",
)


def usage_statement(by: Sequence[Dimension]) -> str:
    """Write the question for sums by these dimensions; the columns come out of the table above."""
    columns = [_COLUMNS[dimension] for dimension in by]
    shown = ", ".join([*columns, *(f"coalesce(sum({name}), 0) as {name}" for name in _SUMS)])
    grouped = f" group by {', '.join(columns)} order by {', '.join(_sorted(column) for column in columns)}"
    return (
        f"select {shown} from ledger.usage_day where day >= $1 and day < $2 "  # noqa: S608  # names of ours alone
        "and ($3::text is null or tenant = $3) and ($4::text is null or key_id = $4) "
        "and ($5::text is null or model = $5) and ($6::text is null or vendor = $6)"
        f"{grouped if columns else ' having count(*) > 0'} limit {ROWS_MAX + 1}"
    )


def _sorted(column: str) -> str:
    """Sort texts by their bytes, as everybody does who has no database."""
    return column if column == "day" else f'{column} collate "C"'


def arguments_of(events: Sequence[UsageEvent]) -> list[list[object]]:
    """Give the columns of a batch, and the statuses that count as failed."""
    usages = [event.usage for event in events]
    lines = [event.batch_line for event in events]
    return [
        [event.id for event in events],
        [wall_ms_of(event.id) for event in events],
        [date.fromordinal(day_of(event) + EPOCH_ORDINAL) for event in events],
        [event.request_id for event in events],
        [event.started_at for event in events],
        [event.duration_s for event in events],
        [event.first_token_s for event in events],
        [event.tenant for event in events],
        [event.key_id for event in events],
        [event.model for event in events],
        [event.chain for event in events],
        [event.vendor for event in events],
        [event.node for event in events],
        [event.vendor_model for event in events],
        [event.status.value for event in events],
        [event.http_status for event in events],
        [_tokens(usage.prompt_tokens) for usage in usages],
        [_tokens(usage.completion_tokens) for usage in usages],
        [_tokens(usage.cached_tokens) for usage in usages],
        [_tokens(usage.cache_write_tokens) for usage in usages],
        [_tokens(usage.reasoning_tokens) for usage in usages],
        [_picos(event.cost_picos) for event in events],
        [None if event.cloud_picos is None else _picos(event.cloud_picos) for event in events],
        [_picos(saved_picos(event)) for event in events],
        [_flags(event) for event in events],
        [None if line is None else line.batch for line in lines],
        [None if line is None else line.line for line in lines],
        [status.value for status in sorted(FAILED)],
    ]


def wall_ms_of(id_text: str) -> int:
    """Read the time in a UUIDv7: its first 48 bits are milliseconds since 1970.

    Raises:
        ValueError: not the text of a UUID.
    """
    return int(id_text[:8] + id_text[9:13], 16)


def _tokens(count: int) -> int:
    return min(count, TOKENS_STORED_MAX)


def _picos(amount: int) -> int:
    return max(-PICOS_STORED_MAX, min(amount, PICOS_STORED_MAX))


def _flags(event: UsageEvent) -> int:
    return (
        ESTIMATED * event.usage.estimated
        + STREAMED * event.streamed
        + PRICED * event.priced
        + UNCOUNTED * event.uncounted
        + FROM_CACHE * event.from_cache
    )
