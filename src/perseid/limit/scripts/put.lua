-- The slots of a new block that ends at `ends`. 1 if they are there.
local key, block, size, ends = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if open_gate(key) >= ends then
  return 0
end
redis.call('ZADD', key, exact(-ends), '=' .. block)
for n = 1, size do
  redis.call('ZADD', key, 0, block .. ':' .. n)
end
redis.call('PEXPIRE', key, KEPT_MS)
return 1
