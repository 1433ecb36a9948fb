-- Say that a holder lives; give back what it says it does not know; name what it has reserved, where it knows less.
-- KEYS: until when holders live, what the holder has reserved. ARGV: holder, ttl_us, how many it knows, then ids to
-- give back, each once. Answers {whether it lived, id, ...}.
local NAMES_MAX = 1000
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local until_us = call('HGET', KEYS[1], ARGV[1])
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
local answer = {until_us and tonumber(until_us) > now and 1 or 0}
if call('HLEN', KEYS[2]) > tonumber(ARGV[3]) then
  for _, id in ipairs(call('HRANDFIELD', KEYS[2], NAMES_MAX)) do answer[#answer + 1] = id end
end
return answer
