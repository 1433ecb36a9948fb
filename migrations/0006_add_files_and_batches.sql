-- Files of clients, and the batches that are run from them.

-- All tables are new and the runner holds the lock timeout and the one transaction around the file:
-- squawk-ignore-file require-lock-timeout, require-statement-timeout, prefer-robust-stmts
-- squawk-ignore-file require-concurrent-index-creation

-- `owner` is the public id of the client key that made it. Nobody sees a file before it is finished.
create table batch_file (
    id uuid primary key,
    owner text not null,
    tenant text not null,
    name text not null,
    purpose text not null,
    size_bytes bigint not null default 0,
    created_at timestamptz not null default now(),
    finished_at timestamptz,
    expires_at timestamptz not null
);

create index batch_file_owner on batch_file (owner, id);
create index batch_file_expires on batch_file (expires_at);

create table batch_file_piece (
    file_id uuid not null references batch_file (id) on delete cascade,
    number bigint not null,
    size_bytes bigint not null,
    key_id text not null references encryption_key (id),
    content ktms_ciphertext not null,
    constraint batch_file_piece_pkey primary key (file_id, number),
    constraint batch_file_piece_key_id_is_header check (ktms_ciphertext_key_id(content) = key_id)
);

-- As `ktms_refuse_other_key`, which would write every piece as text to find one member of it.
create function ktms_refuse_other_piece_key() returns trigger
    language plpgsql
as $$
declare
    wanted text;
begin
    select state.primary_id into wanted from encryption_state as state where state.id = 1 for share;
    if wanted is distinct from new.key_id then
        raise exception 'table %: ciphertext under key "%", but the primary key is "%"',
            tg_table_name, new.key_id, wanted using errcode = 'KT001';
    end if;
    return new;
end
$$;

create trigger batch_file_piece_under_primary
    before insert or update of content, key_id on batch_file_piece
    for each row execute function ktms_refuse_other_piece_key();

-- Files may be gone before their batch, so nothing refers to them. `once` is its Idempotency-Key, `claim` and
-- `lease_until` say who examines it; counts are those of its end.
create table batch (
    id uuid primary key,
    owner text not null,
    tenant text not null,
    input_file uuid not null,
    output_file uuid not null,
    error_file uuid not null,
    route text not null,
    metadata jsonb not null,
    once text,
    once_digest bytea,
    state text not null default 'validating',
    complaints jsonb not null default '[]',
    total bigint not null default 0,
    completed bigint not null default 0,
    failed bigint not null default 0,
    claim bigint not null default 0,
    lease_until timestamptz not null default '-infinity',
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    keep_until timestamptz not null,
    in_progress_at timestamptz,
    finalizing_at timestamptz,
    completed_at timestamptz,
    failed_at timestamptz,
    expired_at timestamptz,
    cancelling_at timestamptz,
    cancelled_at timestamptz,
    constraint batch_once_unique unique (owner, once),
    constraint batch_once_whole check ((once is null) = (once_digest is null)),
    constraint batch_state_known check (state in (
        'validating', 'in_progress', 'finalizing', 'completed', 'failed', 'expired', 'cancelling', 'cancelled'
    ))
);

create index batch_owner on batch (owner, id);
create index batch_open on batch (id) where state in ('validating', 'in_progress', 'finalizing', 'cancelling');
create index batch_keep_until on batch (keep_until);

-- `claim` grows with every claim, so that what an older one brings is not taken.
create table batch_line (
    batch_id uuid not null references batch (id) on delete cascade,
    number bigint not null,
    start_byte bigint not null,
    size_bytes bigint not null,
    state text not null,
    claim bigint not null default 0,
    lease_until timestamptz not null default '-infinity',
    not_before timestamptz not null default '-infinity',
    failures bigint not null default 0,
    deaths bigint not null default 0,
    constraint batch_line_pkey primary key (batch_id, number),
    constraint batch_line_state_known check (state in ('waiting', 'running', 'done', 'failed', 'expired'))
) with (fillfactor = 70); -- each line is changed a few times: room for its new versions on its own page

create index batch_line_waiting on batch_line (batch_id, number) where state = 'waiting';
create index batch_line_running on batch_line (lease_until) where state = 'running';
