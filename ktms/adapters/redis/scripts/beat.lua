-- Say that a holder lives; give back what it says it does not know; name what it has reserved, where it knows less.
-- KEYS: until when holders live, what the holder has reserved. ARGV: holder, ttl_us, how many it knows, then ids to
-- give back, each once. Answers {how many are reserved, id, ...}: fewer than it knows were lost or given back.
local NAMES_MAX = 1000
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
call('HSET', KEYS[1], ARGV[1], now + ARGV[2])
local some = {}
for at = 4, #ARGV do
  local reservation = call('HGET', KEYS[2], ARGV[at])
  if reservation then
    some[#some + 1] = ARGV[at]
    some[#some + 1] = reservation
  end
end
give_back(KEYS[2], nil, some, now)
local reserved = call('HLEN', KEYS[2])
local answer = {reserved}
if reserved > tonumber(ARGV[3]) then
  for _, id in ipairs(call('HRANDFIELD', KEYS[2], NAMES_MAX)) do answer[#answer + 1] = id end
end
return answer
