-- Give a lease back on whichever of these nodes it is; with drain_ms something stays in its place for so long.
-- KEYS: the leases of each node. ARGV: lease, drain_ms, channel, then the name of each node.
-- A lease that is gone leaves nothing behind: its slot may be another's by now. Answers how many were removed.
local removed = 0
for at, key in ipairs(KEYS) do
  if redis.call('ZREM', key, ARGV[1]) == 1 then
    removed = removed + 1
    if ARGV[2] == '0' then
      redis.call('PUBLISH', ARGV[3], ARGV[at + 3])
    else
      local time = redis.call('TIME')
      local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
      -- How long it drains, so that whoever sees the engine idle knows since when.
      redis.call('ZADD', key, string.format('%d', ends), '~' .. ARGV[2] .. '~' .. ARGV[1])
    end
  end
end
return removed
