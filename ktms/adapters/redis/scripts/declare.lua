-- Take up reservations under way that are not here any more.
-- KEYS: what the holder has reserved, what was given back of it, then all the accounts.
-- ARGV: of each its id, micros, the keys of its accounts with NUL between them. Answers how many were new.
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local accounts, new = {}, 0
for at = 1, #ARGV, 3 do
  local id, micros, keys = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  if call('HEXISTS', KEYS[1], id) == 0 then
    new = new + 1
    call('HDEL', KEYS[2], id)
    local count, parts, wish = 0, '', write('<d', micros)
    for key in string.gmatch(keys, '[^%z]+') do
      local account = accounts[key] or open(call('GET', key))
      accounts[key] = account
      roll(account, now)
      account[4] = account[4] + 1
      move_dollars(account, account[6], account[9], micros, 0)
      count, parts = count + 1, parts .. write('<ddd', 0, account[6], account[9])
      -- What it took of buckets was lost with them; all that it used is charged at its end.
      wish = wish .. write('<ddddd', 0, 0, 0, 0, 0)
    end
    call('HSET', KEYS[1], id, write('<dd', count, now) .. parts .. wish .. keys)
  end
end
for key, account in pairs(accounts) do close(key, account) end
return new
