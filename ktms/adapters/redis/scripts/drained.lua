-- Free the slots of nodes that drained already when these were seen idle.
-- KEYS: the leases of each node. ARGV: channel, until_ms, then the name of each node. Answers how many were freed.
local freed, until_ms = 0, tonumber(ARGV[2])
for at, key in ipairs(KEYS) do
  local before = freed
  local members = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for index = 1, #members, 2 do
    local drain_ms = string.match(members[index], '^~(%d+)~')
    if drain_ms and members[index + 1] - drain_ms < until_ms then
      freed = freed + redis.call('ZREM', key, members[index])
    end
  end
  if freed > before then redis.call('PUBLISH', ARGV[1], ARGV[at + 2]) end
end
return freed
