-- Reserve of all accounts of a call, or of none; once a second, give back before what the dead have reserved.
-- KEYS: until when holders live, what the holder has reserved, each account. ARGV: id, holder, ttl_us of a holder,
-- tombstone_ms, the wish (doubles: micros, then of each account its share of requests and of tokens, and the limits
-- of concurrent, day and month; -1: none), the keys of the accounts with NUL between them.
-- Answers {1: reserved, 0: some were never read, 2: refused; 1 where the holder was not known to live; now_us}, where
-- refused which account, which limit (both from 1) and wait_ms (-1: for ever); then each account.
local time, wish = call('TIME'), ARGV[5]
local now = time[1] * 1000000 + time[2]
local lives = call('HMGET', KEYS[1], ARGV[2], '~')
if not lives[2] or tonumber(lives[2]) <= now or tonumber(lives[2]) > now + 1000000 then
  local left, ends, base = 50, now + ARGV[3], string.sub(KEYS[1], 1, -6) -- without `beats`
  local all = call('HGETALL', KEYS[1])
  for at = 1, #all, 2 do
    local holder, until_us = all[at], tonumber(all[at + 1])
    if holder ~= '~' and until_us > ends then -- said while the server's clock was ahead
      call('HSET', KEYS[1], holder, ends)
    elseif holder ~= '~' and until_us <= now and left > 0 then
      local held, swept = base .. 'held:' .. holder, base .. 'swept:' .. holder
      local some = call('HRANDFIELD', held, left, 'WITHVALUES')
      left = left - #some / 2
      give_back(held, swept, some, now)
      if #some > 0 then call('PEXPIRE', swept, ARGV[4]) end
      -- What it asked before it died may still come, so it is not forgotten at once.
      if #some == 0 and until_us + ARGV[4] * 1000 <= now then call('HDEL', KEYS[1], holder) end
    end
  end
  if left > 0 then call('HSET', KEYS[1], '~', now + 1000000) end
end
local new = 0
if not lives[1] or tonumber(lives[1]) <= now then
  new = 1
  call('HSET', KEYS[1], ARGV[2], now + ARGV[3])
end

local micros, place = read('<d', wish)
local accounts, same, answer = call('MGET', unpack(KEYS, 3)), {}, {1, new, now}
local unread, which, limit, wait = false, 0, 0, 0
local function refuse(at, its, us)
  local ms = us and math.ceil(us / 1000) or -1
  if wait >= 0 and (ms < 0 or ms > wait) then which, limit, wait = at, its, ms end
end
for at, packed in ipairs(accounts) do
  local account = open(packed)
  same[at] = roll(account, now)
  accounts[at] = account
  local requests, tokens, concurrent, day_max, month_max
  requests, tokens, concurrent, day_max, month_max, place = read('<ddddd', wish, place)
  if account[5] == 0 and (day_max >= 0 or month_max >= 0) then unread = true end
  if requests > WINDOW then
    refuse(at, 1)
  elseif requests > 0 and account[1] + requests > now + WINDOW then
    refuse(at, 1, account[1] + requests - now - WINDOW)
  end
  if tokens > WINDOW then
    refuse(at, 2)
  elseif tokens > 0 and account[2] + tokens > now + WINDOW then
    refuse(at, 2, account[2] + tokens - now - WINDOW)
  end
  if concurrent >= 0 and account[4] >= concurrent then refuse(at, 3, concurrent > 0 and 1e6 or nil) end
  if micros > 0 and day_max >= 0 and account[7] + account[8] + micros > day_max then
    refuse(at, 4, micros <= day_max and (account[6] + 1) * DAY - now or nil)
  end
  if micros > 0 and month_max >= 0 and account[10] + account[11] + micros > month_max then
    local year = math.floor((account[9] - 1) / 12)
    local from_march = account[9] - 1 - 12 * year
    local era = math.floor(year / 400)
    local yoe = year - 400 * era
    local doe = 365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100) + math.floor((153 * from_march + 2) / 5)
    refuse(at, 5, micros <= month_max and (era * 146097 + doe - 719468) * DAY - now or nil)
  end
end
if (unread or which > 0) and call('HEXISTS', KEYS[2], ARGV[1]) == 0 then
  answer = unread and {0, new, now} or {2, new, now, which, limit, wait}
  for _, account in ipairs(accounts) do
    answer[#answer + 1] = write(ACCOUNT, unpack(account, 1, 11))
  end
  return answer
end

local reservation = write('<dd', #accounts, now)
for at, account in ipairs(accounts) do
  local tokens = read('<d', wish, 40 * at - 23)
  local ends = tokens > 0 and max(account[2], now) + tokens or 0
  reservation = reservation .. write('<ddd', ends, account[6], account[9])
end
-- Asked again after a reply was lost: what it has, it keeps.
local fresh = call('HSETNX', KEYS[2], ARGV[1], reservation .. wish .. ARGV[6]) == 1
for at, account in ipairs(accounts) do
  if fresh then
    local requests, tokens = read('<dd', wish, 40 * at - 31)
    if requests > 0 then account[1] = max(account[1], now) + requests end
    if tokens > 0 then take_tokens(account, tokens, now) end
    account[4] = account[4] + 1
    move_dollars(account, account[6], account[9], micros, 0)
    answer[at + 3] = close(KEYS[at + 2], account, same[at])
  else
    answer[at + 3] = write(ACCOUNT, unpack(account, 1, 11))
  end
end
return answer
