-- Prices that begin at a moment: of one target several, which follow each other.

-- The table is new and the runner holds the lock timeout and the one transaction around the file:
-- squawk-ignore-file require-lock-timeout, require-statement-timeout, prefer-robust-stmts

-- Dollars per million tokens, exact. What holds from always on stays in `price`, one for each target, where older
-- gateways look; its `valid_from` says when it was stored. Positions of both count together.
create table dated_price (
    id uuid primary key,
    vendor text not null,
    model text not null,
    valid_from timestamptz not null,
    input numeric not null,
    cached_input numeric,
    cache_write numeric,
    output numeric not null,
    position bigint not null,
    constraint dated_price_beginning_unique unique (vendor, model, valid_from),
    constraint dated_price_not_negative check (
        input >= 0 and output >= 0 and coalesce(cached_input, 0) >= 0 and coalesce(cache_write, 0) >= 0
    )
);
