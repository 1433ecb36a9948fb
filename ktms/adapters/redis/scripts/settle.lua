-- Put what was used in the place of what was reserved; of what was given back meanwhile, charge what was used.
-- KEYS: what the holder has reserved, what was given back of it, each account.
-- ARGV: id, what was used (doubles: micros, 1 where it was nothing at all, of each account its share of tokens).
-- Answers 1, 2 where it was given back before, or 0 where nothing is known of it: then it was settled already.
local late, reservation = false, call('HGET', KEYS[1], ARGV[1])
if not reservation then
  late, reservation = true, call('HGET', KEYS[2], ARGV[1])
  if not reservation then return 0 end
end
call('HDEL', KEYS[late and 2 or 1], ARGV[1])
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local used, nothing, place = read('<dd', ARGV[2])
local count, made = read('<dd', reservation)
local micros = read('<d', reservation, 24 * count + 17)
for at, packed in ipairs(call('MGET', unpack(KEYS, 3))) do
  local account, tokens = open(packed)
  tokens, place = read('<d', ARGV[2], place)
  if late then
    local day, month = read('<dd', reservation, 24 * at + 1)
    if tokens > 0 then take_tokens(account, tokens, now) end
    move_dollars(account, day, month, 0, used)
  else
    local requests = settle(account, reservation, count, made, micros, at, tokens, used, now)
    if nothing == 1 then account[1] = account[1] - max(0, requests - (now - made)) end
  end
  close(KEYS[at + 2], account, is_account(packed))
end
return late and 2 or 1
