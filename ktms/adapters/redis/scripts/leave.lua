-- Count a waiter off. KEYS: the waiters. ARGV: the waiter. Answers how many were removed.
-- A script, though one command would do: where scripts were lost, what is asked in one pipeline keeps its order.
return redis.call('ZREM', KEYS[1], ARGV[1])
