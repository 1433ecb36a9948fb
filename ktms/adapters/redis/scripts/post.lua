-- Put reports up, stamped. KEYS: the report of each node. ARGV: ttl_ms, then each report. Answers how many.
local time = redis.call('TIME')
local now = string.format('%d ', time[1] * 1000 + math.floor(time[2] / 1000))
for at, key in ipairs(KEYS) do redis.call('SET', key, now .. ARGV[at + 1], 'PX', ARGV[1]) end
return #KEYS
