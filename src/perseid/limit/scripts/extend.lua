-- Hold a slot for `ttl` µs from now, at most until its block ends. Gives {until, µs of that left, µs of its block left},
-- or nothing where it is held no more.
local key, slot, till, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local now = open_gate(key)
local held = tonumber(redis.call('ZSCORE', key, slot) or -1)
if held ~= till or held <= now then
  return {}
end
local ends = ends_of(key, block_of(slot))
till = math.max(held, math.min(now + ttl, ends))
redis.call('ZADD', key, exact(till), slot)
return {exact(till), till - now, ends - now}
