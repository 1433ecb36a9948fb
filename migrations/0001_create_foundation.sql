-- Catalogue, keys, encryption state, audit, replicas.
--
-- Shapes that only the gateway reads lie in `spec` (jsonb; amounts of money as text, never as floating numbers); what
-- is searched, joined, counted or encrypted has a column. Order inside the configuration file is `position`.

-- Every table is new and the runner holds the lock timeout and the one transaction around the file:
-- squawk-ignore-file require-lock-timeout, require-statement-timeout, prefer-robust-stmts
-- squawk-ignore-file require-concurrent-index-creation

-- Encrypted values: listing the columns of this type lists everything a key rotation must visit. The size is part of
-- the envelope's form, so the check never has to change.
create domain ktms_ciphertext as bytea
    -- squawk-ignore ban-create-domain-with-constraint
    constraint ktms_ciphertext_size check (octet_length(value) between 79 and 65536);

-- The key id an envelope names in its header (version 1: byte 1 is the length of the id that follows).
create function ktms_ciphertext_key_id(sealed bytea) returns text
    language sql immutable strict parallel safe
    return convert_from(substring(sealed from 3 for get_byte(sealed, 1)), 'SQL_ASCII');

create table encryption_key (
    id text primary key,
    check_value bytea not null,
    created_at timestamptz not null default now(),
    retired_at timestamptz,
    constraint encryption_key_id_form check (id ~ '^[a-z0-9][a-z0-9-]{0,15}$'),
    constraint encryption_key_check_value_size check (octet_length(check_value) = 8)
);

-- One row: which key new ciphertext is written under. Writers read it FOR SHARE, a rotation takes it FOR UPDATE.
create table encryption_state (
    id bigint primary key,
    primary_id text not null references encryption_key (id),
    epoch bigint not null,
    constraint encryption_state_single check (id = 1)
);

-- Second line against a writer that cached another key id: its row would be unreadable once the old key is gone.
-- FOR SHARE makes it wait for a rotation under way and then see the new primary.
create function ktms_refuse_other_key() returns trigger
    language plpgsql
as $$
declare
    named text := to_jsonb(new) ->> tg_argv[0];
    wanted text;
begin
    if named is null then
        return new;
    end if;
    select state.primary_id into wanted from encryption_state as state where state.id = 1 for share;
    if wanted is distinct from named then
        raise exception 'table %: ciphertext under key "%", but the primary key is "%"', tg_table_name, named, wanted
            using errcode = 'KT001';
    end if;
    return new;
end
$$;

create table tenant (
    id uuid primary key,
    name text not null,
    spec jsonb not null,
    position bigint not null,
    created_at timestamptz not null default now(),
    removed_at timestamptz,
    constraint tenant_name_unique unique (name)
);

insert into tenant (id, name, spec, position)
values ('00000000-0000-7000-8000-000000000001', 'default', '{}', 0)
on conflict do nothing;

create table client_key (
    id uuid primary key,
    key_id text not null,
    digest bytea not null,
    name text not null,
    tenant_id uuid not null references tenant (id),
    spec jsonb not null,
    position bigint not null,
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    constraint client_key_key_id_unique unique (key_id),
    constraint client_key_digest_size check (octet_length(digest) = 32)
);

create unique index client_key_live_name on client_key (name) where revoked_at is null;
create index client_key_tenant on client_key (tenant_id);

create table admin_key (
    id uuid primary key,
    key_id text not null,
    digest bytea not null,
    name text not null,
    role text not null,
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    constraint admin_key_key_id_unique unique (key_id),
    constraint admin_key_digest_size check (octet_length(digest) = 32)
);

create unique index admin_key_live_name on admin_key (name) where revoked_at is null;

create table vendor (
    id uuid primary key,
    name text not null,
    spec jsonb not null,
    position bigint not null,
    created_at timestamptz not null default now(),
    constraint vendor_name_unique unique (name)
);

create table vendor_key (
    id uuid primary key,
    vendor_id uuid not null references vendor (id) on delete cascade,
    key_id text not null references encryption_key (id),
    secret ktms_ciphertext not null,
    last4 text not null,
    position bigint not null,
    created_at timestamptz not null default now(),
    constraint vendor_key_key_id_is_header check (ktms_ciphertext_key_id(secret) = key_id)
);

create index vendor_key_vendor on vendor_key (vendor_id);

create trigger vendor_key_under_primary
    before insert or update of secret, key_id on vendor_key
    for each row execute function ktms_refuse_other_key('key_id');

create table node (
    id uuid primary key,
    name text not null,
    spec jsonb not null,
    position bigint not null,
    token_key_id text references encryption_key (id),
    token ktms_ciphertext,
    token_last4 text,
    created_at timestamptz not null default now(),
    constraint node_name_unique unique (name),
    constraint node_token_whole check ((token is null) = (token_key_id is null)),
    constraint node_token_key_id_is_header check (ktms_ciphertext_key_id(token) = token_key_id)
);

create trigger node_under_primary
    before insert or update of token, token_key_id on node
    for each row execute function ktms_refuse_other_key('token_key_id');

create table model (
    id uuid primary key,
    name text not null,
    spec jsonb not null,
    position bigint not null,
    created_at timestamptz not null default now(),
    constraint model_name_unique unique (name)
);

create table chain (
    id uuid primary key,
    name text not null,
    spec jsonb not null,
    position bigint not null,
    created_at timestamptz not null default now(),
    constraint chain_name_unique unique (name)
);

-- Dollars per million tokens, exact.
create table price (
    id uuid primary key,
    vendor text not null,
    model text not null,
    input numeric not null,
    cached_input numeric,
    cache_write numeric,
    output numeric not null,
    position bigint not null,
    valid_from timestamptz not null default now(),
    constraint price_target_unique unique (vendor, model),
    constraint price_not_negative check (
        input >= 0 and output >= 0 and coalesce(cached_input, 0) >= 0 and coalesce(cache_write, 0) >= 0
    )
);

create table policy (
    id bigint primary key,
    spec jsonb not null,
    constraint policy_single check (id = 1)
);

insert into policy (id, spec) values (1, '{}') on conflict do nothing;

-- One row: whoever changes the catalogue locks it first, so changes follow each other.
create table catalogue_version (
    id bigint primary key,
    version bigint not null,
    changed_at timestamptz not null default now(),
    constraint catalogue_version_single check (id = 1)
);

insert into catalogue_version (id, version) values (1, 0) on conflict do nothing;

-- Who changed what, before and after, never with a secret.
create table audit (
    id uuid primary key,
    at timestamptz not null default now(),
    actor text not null,
    role text not null,
    action text not null,
    subject text not null,
    version bigint,
    details jsonb not null
);

-- Heartbeats: which replicas live and which keys they hold (a rotation asks for both).
create table replica (
    id uuid primary key,
    host text not null,
    app_version text not null,
    key_ids text[] not null,
    catalogue_version bigint not null,
    started_at timestamptz not null,
    heartbeat_at timestamptz not null
);
