-- A token of one bucket: 0, or the µs until there is one. It gains one each `step` µs up to `burst`.
--
-- All buckets are one sorted set: the time at which each is full, a bucket without an entry is. '@life' bears minus the
-- time since when they are known: what was taken before may be forgotten, so they count as empty at that moment.
local key, bucket, step, burst, anew = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local now, mark = clock(), life()
local born = -(redis.call('ZSCORE', key, mark) or 0)
if born == 0 or born > now + 1000000 or anew == '1' then
  redis.call('DEL', key)
  redis.call('ZADD', key, exact(-now), mark)
  born = now
end
local most = now + burst * step
local known = tonumber(redis.call('ZSCORE', key, bucket) or 0)
local full = math.max(now, born + burst * step, known)
if full > most then
  -- The clock was set back: nobody is shut out for longer than the bucket takes to fill.
  full = most
  if known > most then
    redis.call('ZADD', key, exact(most), bucket)
  end
end
local wait = full - (burst - 1) * step - now
if wait > 0 then
  return wait
end
redis.call('ZADD', key, exact(full + step), bucket)
redis.call('ZREMRANGEBYSCORE', key, 1, exact(now))
return 0
