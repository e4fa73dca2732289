-- 1 if the slot was still held until `till`, by whoever was told that.
local key, slot, till = KEYS[1], ARGV[1], tonumber(ARGV[2])
open_gate(key)
if tonumber(redis.call('ZSCORE', key, slot) or -1) ~= till then
  return 0
end
redis.call('ZADD', key, 0, slot)
return 1
