-- Take a slot on the first node that has one free.
-- KEYS: epoch, then the leases of each candidate. ARGV: lease, ttl_ms, grace_ms, then the slots of each.
-- Answers {which (from 1; 0: none; -1: not known yet), leases on each that was looked at}.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local epoch = redis.pcall('GET', KEYS[1])
epoch = type(epoch) == 'string' and tonumber(string.match(epoch, '^%-?%d+$'))
if not epoch or epoch > now then -- none, nothing that is a time, or of a server whose clock was ahead
  epoch = now
  redis.call('SET', KEYS[1], string.format('%d', now))
end
if now - epoch < tonumber(ARGV[3]) then return {-1} end
local lease, ttl = ARGV[1], tonumber(ARGV[2])
local answer, held = {0}, 0
-- Asked again after a reply was lost: what it has, it keeps, though an earlier candidate is free by now.
for at = 2, #KEYS do
  redis.call('ZREMRANGEBYSCORE', KEYS[at], '-inf', string.format('%d', now))
  if held == 0 and redis.call('ZSCORE', KEYS[at], lease) then held = at end
end
for at = 2, #KEYS do
  local busy = redis.call('ZCARD', KEYS[at])
  if at == held or (held == 0 and busy < tonumber(ARGV[at + 2])) then
    redis.call('ZADD', KEYS[at], string.format('%d', now + ttl), lease)
    if at ~= held then busy = busy + 1 end
    answer[1] = at - 1
    answer[at] = busy
    return answer
  end
  answer[at] = busy
end
return answer
