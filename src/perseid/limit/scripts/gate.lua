-- The slots of one gate, a sorted set:
--   '@life'      minus the time it was last looked at
--   '=block'     minus the time the block ends
--   'block:n'    a slot: 0 is free, else held until then
-- A slot stands here once or not at all. So what is lost can't be handed out twice.

local KEPT_MS = 3600000
local BACK_BY = 1000000

-- The time, once what is not of this life was thrown away, or all, where the clock was set back.
local function open_gate(key)
  local now, mark = clock(), life()
  local seen = redis.call('ZSCORE', key, mark)
  if not seen or -seen > now + BACK_BY then
    redis.call('DEL', key)
    seen = false
  end
  redis.call('ZADD', key, exact(-now), mark)
  if not seen then
    redis.call('PEXPIRE', key, KEPT_MS)
  end
  return now
end

local function block_of(slot)
  return '=' .. string.match(slot, '^[^:]+')
end

local function ends_of(key, block)
  return -(redis.call('ZSCORE', key, block) or 0)
end

-- Holders whose time was up `grace` ago have ended.
local function take_back(key, now, grace)
  for _, slot in ipairs(redis.call('ZRANGEBYSCORE', key, 1, exact(now - grace))) do
    redis.call('ZADD', key, 0, slot)
  end
end
