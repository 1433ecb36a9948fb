-- Raise what accounts have settled to at least what the ledger knows; nothing is ever lowered.
-- KEYS: each account. ARGV: of each (doubles) the day, the month, and the micros of both. Answers how many.
local time = call('TIME')
for at, key in ipairs(KEYS) do
  local account = open(call('GET', key))
  account[5] = 1
  roll(account, time[1] * 1000000 + time[2])
  local day, month, day_micros, month_micros = read('<dddd', ARGV[at])
  if day == account[6] then account[7] = max(account[7], min(day_micros, AMOUNT_MAX)) end
  if month == account[9] then account[10] = max(account[10], min(month_micros, AMOUNT_MAX)) end
  close(key, account)
end
return #KEYS
