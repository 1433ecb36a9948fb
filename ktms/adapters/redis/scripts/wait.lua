-- Count waiters, new or still there. KEYS: the waiters' set of each. ARGV: ttl_ms, then each waiter.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before, ends = string.format('%d', now), string.format('%d', now + ARGV[1])
local swept = {}
for at, key in ipairs(KEYS) do
  if not swept[key] then
    swept[key] = true
    redis.call('ZREMRANGEBYSCORE', key, '-inf', before)
  end
  redis.call('ZADD', key, ends, ARGV[at + 1])
end
return #KEYS
