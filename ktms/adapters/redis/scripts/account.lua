-- What the scripts about limits share; it is put before each of them. All numbers are whole and below 2^53.
-- An account: 1 requests_at, 2 tokens_at, 3 tokens_since, 4 running, 5 read, 6 day, 7 day_settled, 8 day_reserved,
-- 9 month, 10 month_settled, 11 month_reserved; instants and shares of buckets are microseconds.
-- A reservation: how many accounts, when, of each tokens_end, day, month (doubles); the wish as it was given
-- (`reserve.lua`); the keys of the accounts with NUL between them. In a cluster they share the slot of all our keys.
local call, read, write, max, min = redis.call, struct.unpack, struct.pack, math.max, math.min
local ACCOUNT, DAY, WINDOW, AMOUNT_MAX, DEBT_MAX = '<ddddddddddd', 86400e6, 60e6, 4e15, 3600e6

-- What is no account, whoever wrote it, begins anew: an error would let all calls of it pass uncounted.
local function is_account(packed)
  return packed and #packed == 88
end

local function open(packed)
  if is_account(packed) then return {read(ACCOUNT, packed)} end
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
end

-- A key lives for 40 days after the last day on which it was used: only a new day, or none before, is worth a SET.
local function close(key, account, same)
  local packed = write(ACCOUNT, unpack(account, 1, 11))
  if same then call('SETRANGE', key, 0, packed) else call('SET', key, packed, 'PX', 3456000000) end
  return packed
end

-- Begin the day and month of `now`; tells whether they had begun. A server's clock that was ahead bars nobody.
local function roll(account, now)
  if account[1] > now + WINDOW then account[1] = now + WINDOW end
  if account[2] > now + DEBT_MAX then account[2] = now + DEBT_MAX end
  local day, floor = math.floor(now / DAY), math.floor
  if day <= account[6] then return true end
  account[6], account[7], account[8] = day, 0, 0
  local days = day + 719468
  local era = floor(days / 146097)
  local doe = days - era * 146097
  local yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100))
  local month = (400 * era + yoe) * 12 + floor((5 * doy + 2) / 153) + 2
  if month ~= account[9] then account[9], account[10], account[11] = month, 0, 0 end
  return false
end

local function take_tokens(account, us, now)
  if account[2] <= now then account[2], account[3] = now, now end
  account[2] = min(account[2] + us, now + DEBT_MAX)
end

local function move_dollars(account, day, month, reserved, settled)
  if day == account[6] then
    local all, under_way = account[7] + settled, account[8] + reserved
    account[7], account[8] = all < AMOUNT_MAX and all or AMOUNT_MAX, under_way > 0 and under_way or 0
  end
  if month == account[9] then
    local all, under_way = account[10] + settled, account[11] + reserved
    account[10], account[11] = all < AMOUNT_MAX and all or AMOUNT_MAX, under_way > 0 and under_way or 0
  end
end

-- Put what was used in the place of the `at`th of `count` parts of a reservation; gives its share of requests.
local function settle(account, reservation, count, made, micros, at, used_tokens, used_micros, now)
  local tokens_end, day, month = read('<ddd', reservation, 24 * at - 7)
  local requests, tokens = read('<dd', reservation, 24 * count + 40 * at - 15)
  if account[4] > 0 then account[4] = account[4] - 1 end
  if used_tokens > tokens then
    take_tokens(account, used_tokens - tokens, now)
  elseif made >= account[3] and tokens_end > now then
    account[2] = account[2] - min(tokens - used_tokens, tokens_end - now)
  end
  move_dollars(account, day, month, -micros, used_micros)
  return requests
end

-- Give back some reservations, {id, reservation, ...}; `swept`, where it is given, keeps them for late settling.
local function give_back(held, swept, some, now)
  local accounts, ids = {}, {}
  for at = 1, #some, 2 do
    local reservation, part = some[at + 1], 0
    local count, made = read('<dd', reservation)
    local micros = read('<d', reservation, 24 * count + 17)
    ids[#ids + 1] = some[at]
    for key in string.gmatch(string.sub(reservation, 64 * count + 25), '[^%z]+') do
      part = part + 1
      accounts[key] = accounts[key] or open(call('GET', key))
      settle(accounts[key], reservation, count, made, micros, part, 0, 0, now)
    end
  end
  if #ids == 0 then return end
  call('HDEL', held, unpack(ids))
  if swept then call('HSET', swept, unpack(some)) end
  for key, account in pairs(accounts) do close(key, account) end
end

