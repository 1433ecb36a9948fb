-- Count what lives, and give reports with their stamps.
-- KEYS: epoch, the leases of each node and the waiters of each model, then the report of each node.
-- ARGV: how many sets are counted. Answers {now_ms, {count of each}, {stamp_ms and report of each, or nil}}.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SET', KEYS[1], string.format('%d', now)) end
local after, counts, sets = string.format('(%d', now), {}, tonumber(ARGV[1])
for at = 1, sets do counts[at] = redis.call('ZCOUNT', KEYS[at + 1], after, '+inf') end
local reports = {}
if #KEYS > sets + 1 then reports = redis.call('MGET', unpack(KEYS, sets + 2)) end
return {now, counts, reports}
