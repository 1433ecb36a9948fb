-- Take a duty that nobody has, or keep one's own. KEYS: the duty. ARGV: owner, ttl_ms. Answers 1 or 0.
local has = redis.call('GET', KEYS[1])
if has and has ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
