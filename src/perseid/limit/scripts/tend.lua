-- Let a block last until `ends` (0: as before), and take up to `spare` of its free slots away for good.
-- Gives {slots that are left, free ones among them}, or nothing where the block is not known: its slots may be in use.
local key, block, ends, spare, grace = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local now = open_gate(key)
local was = ends_of(key, '=' .. block)
if was == 0 then
  return {}
end
if ends > was then
  redis.call('ZADD', key, exact(-ends), '=' .. block)
  redis.call('PEXPIRE', key, KEPT_MS)
end
take_back(key, now, grace)
local left, free, before = 0, 0, block .. ':'
local rows = redis.call('ZRANGEBYSCORE', key, 0, '+inf', 'WITHSCORES')
for i = 1, #rows, 2 do
  if string.sub(rows[i], 1, #before) == before then
    if tonumber(rows[i + 1]) > 0 then
      left = left + 1
    elseif spare > 0 then
      spare = spare - 1
      redis.call('ZREM', key, rows[i])
    else
      left, free = left + 1, free + 1
    end
  end
end
if left == 0 then
  redis.call('ZREM', key, '=' .. block)
end
return {left, free}
