-- Calls that carry an Idempotency-Key: which of them runs or ran, and what it answered.

-- Everything here is new and the runner holds the lock timeout and the one transaction around the file:
-- squawk-ignore-file require-lock-timeout, require-statement-timeout, prefer-robust-stmts
-- squawk-ignore-file require-concurrent-index-creation

-- Encrypted answers: the envelope of `ktms_ciphertext`, with room for an answer of 8 MiB and its facts.
create domain ktms_sealed_answer as bytea
    -- squawk-ignore ban-create-domain-with-constraint
    constraint ktms_sealed_answer_size check (octet_length(value) between 79 and 8519680);

-- Until `expires_at` a call runs at most, or its answer can be had; a row that is over counts as none. An answer that
-- was too large is not kept: `answered` without `answer`.
create table repeatable_call (
    request_id uuid primary key,
    owner text not null,
    key text not null,
    body_digest bytea not null,
    expires_at timestamptz not null,
    answered boolean not null default false,
    answer_key_id text references encryption_key (id),
    answer ktms_sealed_answer,
    constraint repeatable_call_key_unique unique (owner, key),
    constraint repeatable_call_key_size check (octet_length(key) between 1 and 255),
    constraint repeatable_call_digest_size check (octet_length(body_digest) = 32),
    constraint repeatable_call_answer_whole check (
        (answer is null) = (answer_key_id is null) and (answered or answer is null)
    ),
    constraint repeatable_call_answer_key_id_is_header check (ktms_ciphertext_key_id(answer) = answer_key_id)
);

create index repeatable_call_expires_at on repeatable_call (expires_at);

-- As `ktms_refuse_other_key`, which would write the whole row as text to find one member of it.
create function ktms_refuse_other_answer_key() returns trigger
    language plpgsql
as $$
declare
    wanted text;
begin
    if new.answer_key_id is null then
        return new;
    end if;
    select state.primary_id into wanted from encryption_state as state where state.id = 1 for share;
    if wanted is distinct from new.answer_key_id then
        raise exception 'table %: ciphertext under key "%", but the primary key is "%"',
            tg_table_name, new.answer_key_id, wanted using errcode = 'KT001';
    end if;
    return new;
end
$$;

create trigger repeatable_call_under_primary
    before insert or update of answer, answer_key_id on repeatable_call
    for each row execute function ktms_refuse_other_answer_key();
