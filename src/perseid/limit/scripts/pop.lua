-- A free slot of this gate for `ttl` µs, of a block that lasts for `least` µs more.
-- Gives {slot, until, µs of that left, µs of its block left}, or nothing.
local key, ttl, least, grace = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = open_gate(key)
take_back(key, now, grace)
while true do
  local slot = redis.call('ZRANGEBYSCORE', key, 0, 0, 'LIMIT', 0, 1)[1]
  if not slot then
    return {}
  end
  local ends = ends_of(key, block_of(slot))
  if ends - now >= least then
    local till = math.min(now + ttl, ends)
    redis.call('ZADD', key, exact(till), slot)
    return {slot, exact(till), till - now, ends - now}
  end
  redis.call('ZREM', key, slot)
end
