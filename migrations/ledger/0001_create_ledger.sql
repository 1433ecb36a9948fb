-- The accounting service's own schema: usage events once each, and their sums by day.
--
-- It lies in a database of its own or beside the gateway's tables; nothing here refers to those. Amounts are whole
-- pico-dollars; only sums may outgrow 64 bits, so these are numeric.

-- The schema and every table are new, and the runner holds the lock timeout and the one transaction around the file:
-- squawk-ignore-file require-lock-timeout, require-statement-timeout, prefer-robust-stmts
-- squawk-ignore-file require-concurrent-index-creation

-- One row per attempt. `at` is the time inside the id (UUIDv7), so the same event lies in the same month however often
-- it comes, and the key finds every repeat.
create table ledger.usage_event (
    id uuid not null,
    at timestamptz not null,
    day date not null,
    request_id uuid not null,
    started_at timestamptz not null,
    duration_s double precision not null,
    first_token_s double precision,
    tenant text not null,
    key_id text not null,
    model text not null,
    chain text,
    vendor text not null,
    node text,
    vendor_model text not null,
    status text not null,
    http_status bigint,
    prompt_tokens bigint not null,
    completion_tokens bigint not null,
    cached_tokens bigint not null,
    cache_write_tokens bigint not null,
    reasoning_tokens bigint not null,
    estimated boolean not null,
    streamed boolean not null,
    cost_picos bigint not null,
    cloud_picos bigint,
    saved_picos bigint not null,
    priced boolean not null,
    uncounted boolean not null,
    from_cache boolean not null,
    batch text,
    batch_line bigint,
    constraint usage_event_pkey primary key (id, at)
) partition by range (at);

-- Takes events whose month has no partition: nothing is lost for a clock that is wrong, or a month nobody made.
create table ledger.usage_event_rest partition of ledger.usage_event default;

-- Sums of one day, kept by the statement that stores the events: they are equal to the rows at every moment.
create table ledger.usage_day (
    day date not null,
    tenant text not null,
    key_id text not null,
    model text not null,
    vendor text not null,
    node text not null, -- '' for a vendor in the cloud
    attempts bigint not null,
    failed bigint not null,
    prompt_tokens bigint not null,
    cached_tokens bigint not null,
    cache_write_tokens bigint not null,
    completion_tokens bigint not null,
    reasoning_tokens bigint not null,
    estimated bigint not null,
    cost_picos numeric not null,
    saved_picos numeric not null,
    constraint usage_day_pkey primary key (day, tenant, key_id, model, vendor, node)
) with (fillfactor = 70); -- room for new versions of a row on its own page

create index usage_day_key on ledger.usage_day (key_id, day);
create index usage_day_tenant on ledger.usage_day (tenant, day);

-- Makes the partition of the month that `moment` lies in, and takes over what waits for it in the rest.
-- False when there is one. Inserts go on meanwhile but for the moment in which the rest is looked through.
create function ledger.ensure_month(moment timestamptz) returns boolean
    language plpgsql as $$
declare
    first timestamptz := date_trunc('month', moment, 'UTC');
    next timestamptz := date_trunc('month', first + interval '32 days', 'UTC');
    name text := 'usage_event_' || to_char(first at time zone 'UTC', 'YYYY_MM');
begin
    if to_regclass('ledger.' || name) is not null then
        return false;
    end if;
    perform pg_advisory_xact_lock(hashtext('ledger.ensure_month'));
    if to_regclass('ledger.' || name) is not null then
        return false; -- made by another process while this one waited
    end if;
    execute format('create table ledger.%I (like ledger.usage_event including all)', name);
    lock table ledger.usage_event_rest in access exclusive mode;
    execute format(
        'with moved as (delete from ledger.usage_event_rest where at >= %L and at < %L returning *) '
        'insert into ledger.%I select * from moved', first, next, name
    );
    execute format(
        'alter table ledger.usage_event attach partition ledger.%I for values from (%L) to (%L)', name, first, next
    );
    return true;
end $$;

-- This month and the two that follow, by the server's own clock.
create function ledger.ensure_months() returns void
    language sql as $$
    select ledger.ensure_month(now() + month * interval '1 month') from generate_series(0, 2) as month;
$$;

select ledger.ensure_months();
