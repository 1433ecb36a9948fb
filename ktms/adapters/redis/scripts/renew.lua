-- Prolong leases; take up again those that are gone, full or not.
-- KEYS: epoch, then the node's leases of each lease. ARGV: ttl_ms, then lease and slots of each.
-- Answers {index (from 1), 1: regained or 2: over, ...} of those that were gone; the others were kept.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SET', KEYS[1], string.format('%d', now)) end
local before, ends = string.format('%d', now), string.format('%d', now + ARGV[1])
local answer, swept = {}, {}
for at = 2, #KEYS do
  local key, lease = KEYS[at], ARGV[2 * at - 2]
  if not swept[key] then
    swept[key] = true
    redis.call('ZREMRANGEBYSCORE', key, '-inf', before)
  end
  if redis.call('ZADD', key, ends, lease) == 1 then
    answer[#answer + 1] = at - 1
    answer[#answer + 1] = redis.call('ZCARD', key) > tonumber(ARGV[2 * at - 1]) and 2 or 1
  end
end
return answer
