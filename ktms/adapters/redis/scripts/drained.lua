-- Free the draining slots of nodes that are idle.
-- KEYS: the leases of each node. ARGV: channel, then the name of each node. Answers how many were freed.
local freed = 0
for at, key in ipairs(KEYS) do
  local before = freed
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    if string.sub(member, 1, 1) == '~' then freed = freed + redis.call('ZREM', key, member) end
  end
  if freed > before then redis.call('PUBLISH', ARGV[1], ARGV[at + 1]) end
end
return freed
