-- Before each of the other scripts.
--
-- What a key holds is good for one life of one server: another one may have begun with what a backup or a replica knew,
-- where a slot is free that was handed out since. So a key bears the mark of its server's life, and one that bears
-- another is nobody's. All that belongs together lies in one key, so that it is evicted together.
-- The only clock is the server's: all times are its µs.

local function clock()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

local function life()
  return '@' .. string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function exact(number)
  return string.format('%.0f', number)
end
