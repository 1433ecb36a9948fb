-- ktms: outside a transaction
-- squawk-ignore-file require-lock-timeout, require-statement-timeout
-- The audit is read by time, newest first, while it grows: its index is built without holding anybody up.
create index concurrently if not exists audit_at on audit (at);
