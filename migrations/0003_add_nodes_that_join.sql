-- Nodes that join by themselves: their keys with what they permit, and what each last announced.

-- Both tables are new and the runner holds the lock timeout and the one transaction around the file:
-- squawk-ignore-file require-lock-timeout, require-statement-timeout, prefer-robust-stmts
-- squawk-ignore-file require-concurrent-index-creation

create table node_key (
    id uuid primary key,
    key_id text not null,
    digest bytea not null,
    name text not null,
    models text[] not null,
    region text,
    enabled boolean not null default true,
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    constraint node_key_key_id_unique unique (key_id),
    constraint node_key_digest_size check (octet_length(digest) = 32)
);

create unique index node_key_live_name on node_key (name) where revoked_at is null;

-- At most one row per key, gone when the key is revoked; `epoch_ms` fences an older agent of the same node off.
create table node_announcement (
    id uuid primary key,
    node_key_id uuid not null references node_key (id) on delete cascade,
    epoch_ms bigint not null,
    spec jsonb not null,
    token_key_id text not null references encryption_key (id),
    token ktms_ciphertext not null,
    token_last4 text not null,
    heard_at timestamptz not null default now(),
    changed_at timestamptz not null default now(),
    constraint node_announcement_key_unique unique (node_key_id),
    constraint node_announcement_token_key_id_is_header check (ktms_ciphertext_key_id(token) = token_key_id)
);

create trigger node_announcement_under_primary
    before insert or update of token, token_key_id on node_announcement
    for each row execute function ktms_refuse_other_key('token_key_id');
