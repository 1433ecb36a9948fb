-- ktms: outside a transaction
-- squawk-ignore-file require-lock-timeout, require-statement-timeout
-- Owners of batches take turns in being examined: when the last one of an owner was is one look at this index.
create index concurrently if not exists batch_turn on batch (owner, lease_until);
