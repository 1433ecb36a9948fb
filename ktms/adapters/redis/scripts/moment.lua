-- Give the time. KEYS: epoch, by which it is routed like the others. Answers now_ms.
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)
