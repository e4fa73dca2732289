-- Claiming: which waiting jobs run next. Fair between teams, then between the crawls of a team, weighted by class,
-- breadth-first in a crawl.
--
-- Nothing here waits for a row that another transaction holds; what is locked is left out. Whoever got nothing because
-- of that is told which rows stood in the way, and may come back, holding nothing, to wait for them.

-- From where on to look for what is due. A minute is more than any transaction takes that makes something due.
CREATE FUNCTION due_from_v1(this_moment bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT least(last_value, this_moment) - 60000000 FROM woken);
END $$;

-- Up to `wanted` requests from the bucket of all public hosts. `opens_at` is when the next one is free, where
-- `granted` is 0. Some of them may be given back by a negative number.
CREATE FUNCTION global_tokens_v1(wanted bigint, step bigint, burst bigint, this_moment bigint,
                                 OUT granted bigint, OUT opens_at bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  -- Held for microseconds, not until the commit: 0x50455253 is "PERS", 1 this bucket.
  PERFORM pg_advisory_lock(1346720339, 1);
  BEGIN
    SELECT last_value INTO opens_at FROM global_open;
    granted := wanted;
    IF wanted >= 0 THEN
      opens_at := greatest(opens_at, this_moment - (burst - 1) * step);
      granted := CASE WHEN opens_at > this_moment THEN 0 ELSE least(wanted, (this_moment - opens_at) / step + 1) END;
    END IF;
    IF granted <> 0 THEN
      PERFORM setval('global_open', greatest(0, opens_at + granted * step));
    END IF;
  EXCEPTION WHEN query_canceled OR OTHERS THEN
    PERFORM pg_advisory_unlock(1346720339, 1);
    RAISE;
  END;
  PERFORM pg_advisory_unlock(1346720339, 1);
END $$;

-- The queues whose turn it is: up to 16 each of up to 16 teams, in order, locked. `most` is what the team may get of
-- `wanted`, `fits` the queue's share of that by its weight: rather some of few queues than one of each, since every
-- queue that is served is written. `team_at` and `at` are where the rows are.
CREATE FUNCTION turns_v1(wanted bigint, of_crawl bigint, kinds bigint[], passed bigint[], this_moment bigint)
RETURNS TABLE (team bigint, team_at tid, most bigint, team_turn bigint, team_clock bigint, queue bigint, at tid,
               crawl bigint, stride bigint, fits bigint, turn bigint, shelf bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  candidates bigint[];
BEGIN
  IF of_crawl IS NULL THEN
    WITH RECURSIVE found(id) AS (
      (SELECT q.team FROM queue q WHERE q.claimable ORDER BY q.team LIMIT 1)
      UNION ALL
      SELECT (SELECT q.team FROM queue q WHERE q.claimable AND q.team > f.id ORDER BY q.team LIMIT 1)
      FROM found f WHERE f.id IS NOT NULL
    )
    SELECT array_agg(s.id) INTO candidates FROM (
      SELECT t.id FROM found f CROSS JOIN LATERAL (
        SELECT t.id, t.turn FROM team t WHERE t.id = f.id AND t.active < t.max_active OFFSET 0
      ) t
      WHERE EXISTS (
        SELECT 1 FROM queue q WHERE q.team = t.id AND q.claimable AND q.next_at <= this_moment AND q.class = ANY (kinds)
          AND q.id <> ALL (passed))
      ORDER BY t.turn, t.id LIMIT 64
    ) s;
  ELSE
    SELECT ARRAY[c.team] INTO candidates FROM crawl c WHERE c.id = of_crawl;
  END IF;
  RETURN QUERY
    WITH mine AS MATERIALIZED (
      SELECT t.id, t.ctid AS at, t.turn, t.clock, t.max_active - t.active AS room FROM team t
      WHERE t.id = ANY (candidates) AND t.active < t.max_active
      ORDER BY t.turn, t.id LIMIT 16 FOR NO KEY UPDATE SKIP LOCKED
    ), shares AS (
      SELECT m.*, least((wanted + count(*) OVER () - 1) / count(*) OVER (), m.room) AS most FROM mine m
    )
    SELECT s.id, s.at, s.most, s.turn, s.clock, q.id, q.at, q.crawl, q.stride,
      least(ceil(s.most * q.weight / sum(q.weight) OVER (PARTITION BY s.id))::bigint, q.room,
            CASE WHEN q.gap > 0 THEN 1 ELSE s.most END),
      q.turn, q.shelf
    FROM shares s CROSS JOIN LATERAL (
      SELECT q.id, q.ctid AS at, q.crawl, q.stride, q.max_active - q.active AS room, q.gap, q.turn, q.shelf,
        (423360 / q.stride)::numeric AS weight -- whole, whatever the stride
      FROM queue q
      WHERE (of_crawl IS NULL OR q.crawl = of_crawl) AND q.team = s.id AND q.claimable AND q.next_at <= this_moment
        AND q.class = ANY (kinds) AND q.id <> ALL (passed)
      ORDER BY q.turn, q.id LIMIT least(16, (s.most + 1) / 2) FOR NO KEY UPDATE SKIP LOCKED
    ) q
    ORDER BY s.turn, s.id, q.turn, q.id;
END $$;

-- The ready lanes of these queues, each queue's oldest head first: some more than `fits`, for those whose host is full.
-- `low` is the lowest shelf that holds a ready lane of the queue, `nth` the queue's place among `queues`.
CREATE FUNCTION fronts_v1(queues bigint[], fits bigint[], shelves bigint[], spare bigint, passed bigint[])
RETURNS TABLE (nth bigint, at tid, lane bigint, host bigint, head bigint, waiting bigint, low bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY
    SELECT q.nth, l.at, l.id, l.host, l.head, l.waiting, l.low
    FROM unnest(queues, fits, shelves) WITH ORDINALITY AS q(id, fits, shelf, nth)
    CROSS JOIN LATERAL (
      SELECT s.* FROM (
        SELECT f.*, min(f.shelf) OVER () AS low FROM (
          SELECT l.ctid AS at, l.id, l.host, l.head, l.tail - l.head AS waiting, l.ord, l.shelf FROM lane l
          WHERE l.queue = q.id AND l.state = 1 AND l.shelf >= q.shelf
          ORDER BY l.shelf FETCH FIRST (q.fits + spare + cardinality(passed)) ROWS WITH TIES
        ) f
      ) s
      WHERE s.id <> ALL (passed) ORDER BY s.ord LIMIT q.fits + spare
    ) l
    ORDER BY q.nth, l.ord;
END $$;

-- Wake, at each host with room, as many of its longest-waiting lanes as it can serve; lanes woken. Those of queues that
-- are full themselves are woken along the way: they can't use the slot, and the next in line must not wait for them.
CREATE FUNCTION wake_hosts_v1(due_from bigint, this_moment bigint, bound bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  due bigint[];
  mine bigint[];
  rooms bigint[];
  lanes bigint[];
  queues bigint[];
  woken_count bigint := 0;
  it record;
BEGIN
  due := ARRAY(
    SELECT h.id FROM host h WHERE h.wake_at > due_from AND h.wake_at <= this_moment ORDER BY h.wake_at LIMIT bound);
  IF cardinality(due) = 0 THEN
    RETURN 0;
  END IF;
  SELECT array_agg(h.id), array_agg(h.room) INTO mine, rooms FROM (
    SELECT h.id, CASE WHEN h.interval = 0 OR (h.private = 1 AND h.own_interval IS NULL) THEN h.max_active - h.active
      ELSE least(h.max_active - h.active,
        (this_moment - greatest(h.open_at, this_moment - (h.burst - 1) * h.interval)) / h.interval + 1) END AS room
    FROM host h
    WHERE h.id = ANY (due) AND h.wake_at <= this_moment FOR NO KEY UPDATE SKIP LOCKED
  ) h;
  IF mine IS NULL THEN
    RETURN 0;
  END IF;
  -- Whom it would serve, seen without locks; then those of them whose queues are ours to change.
  lanes := ARRAY(
    SELECT l.id FROM unnest(mine, rooms) AS h(id, room) CROSS JOIN LATERAL (
      SELECT l.id, coalesce(sum(l.can_run) OVER (ORDER BY l.parked_at, l.id
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
      FROM (
        SELECT l.id, l.parked_at, (q.active < q.max_active AND q.closed = 0 AND t.active < t.max_active)::int AS can_run
        FROM (
          SELECT l.id, l.parked_at, l.queue FROM lane l WHERE l.host = h.id AND l.state = 2
          ORDER BY l.parked_at LIMIT least(h.room, 1000) + 100
        ) l
        CROSS JOIN LATERAL (SELECT q.* FROM queue q WHERE q.id = l.queue OFFSET 0) q
        CROSS JOIN LATERAL (SELECT t.* FROM team t WHERE t.id = q.team OFFSET 0) t
      ) l
    ) l
    WHERE l.before < h.room
  );
  queues := ARRAY(
    SELECT q.id FROM queue q WHERE q.id = ANY (ARRAY(SELECT DISTINCT l.queue FROM lane l WHERE l.id = ANY (lanes)))
    FOR NO KEY UPDATE SKIP LOCKED);
  FOR it IN
    SELECT l.id, l.queue, l.host, l.ord FROM unnest(lanes) WITH ORDINALITY AS w(lane, nth)
    CROSS JOIN LATERAL (SELECT l.* FROM lane l WHERE l.id = w.lane OFFSET 0) l
    WHERE l.state = 2 AND l.queue = ANY (queues) ORDER BY w.nth
  LOOP
    UPDATE lane l SET state = 1 WHERE l.id = it.id;
    PERFORM ready_v1(it.queue, it.ord);
    UPDATE host h SET waiting = h.waiting - 1 WHERE h.id = it.host;
    woken_count := woken_count + 1;
  END LOOP;
  RETURN woken_count;
END $$;

-- Jobs whose time has come go back into line, some at a time; those of crawls that ended are forgotten.
CREATE FUNCTION retries_due_v1(due_from bigint, this_moment bigint, bound bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  times bigint[];
  jobs bigint[];
  crawls bigint[];
  running bigint[];
  ended bigint[];
  it record;
  its_queue bigint;
BEGIN
  SELECT array_agg(r.run_at), array_agg(r.job), array_agg(r.crawl) INTO times, jobs, crawls FROM (
    SELECT r.run_at, r.job, r.crawl FROM retry r WHERE r.run_at > due_from AND r.run_at <= this_moment
    ORDER BY r.run_at, r.job LIMIT bound FOR UPDATE SKIP LOCKED
  ) r;
  IF jobs IS NULL THEN
    RETURN;
  END IF;
  SELECT coalesce(array_agg(c.id) FILTER (WHERE c.status = 0), '{}'),
    coalesce(array_agg(c.id) FILTER (WHERE c.status <> 0), '{}')
  INTO running, ended FROM (
    SELECT c.id, c.status FROM crawl c WHERE c.id = ANY (ARRAY(SELECT DISTINCT unnest(crawls)))
    FOR NO KEY UPDATE SKIP LOCKED
  ) c;
  FOR it IN
    SELECT d.run_at, d.job, d.crawl, u.kind FROM unnest(times, jobs, crawls) AS d(run_at, job, crawl)
    LEFT JOIN LATERAL (SELECT u.kind FROM url u WHERE u.id = d.job OFFSET 0) u ON true ORDER BY d.run_at, d.job
  LOOP
    IF it.crawl = ANY (ended) OR it.kind IS NULL THEN
      DELETE FROM retry r WHERE r.run_at = it.run_at AND r.job = it.job;
    END IF;
    CONTINUE WHEN it.crawl <> ALL (running);
    its_queue := NULL;
    SELECT q.id INTO its_queue FROM queue q WHERE q.crawl = it.crawl AND q.class = it.kind
    FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN its_queue IS NULL AND EXISTS (SELECT 1 FROM queue q WHERE q.crawl = it.crawl AND q.class = it.kind);
    PERFORM requeue_v1(it.job);
    DELETE FROM retry r WHERE r.run_at = it.run_at AND r.job = it.job;
  END LOOP;
END $$;

-- Leases for the first `l_got` jobs that wait in each of these lanes, in order; `j_lane` is each one's lane. `m_lane`:
-- lanes that were claimed from, with their last position and the job that is now at their head, or NULL. The caller
-- holds the queues; `l_nth` is a lane's among them.
CREATE FUNCTION give_v1(
  taker bigint, lease_us bigint, this_moment bigint, l_id bigint[], l_got bigint[], l_head bigint[], l_nth bigint[],
  l_host bigint[], q_id bigint[], q_crawl bigint[], q_team bigint[],
  OUT jobs bigint[], OUT j_lane bigint[], OUT m_lane bigint[], OUT m_head bigint[], OUT m_ord bigint[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  lock_ bigint := lock_v1(); -- all of one claim are one worker's: it need not be drawn for each
BEGIN
  WITH p AS (
    SELECT p.* FROM unnest(l_id, l_got, l_head, l_nth, l_host) WITH ORDINALITY AS p(lane, n, head, nth, host, i)
    WHERE p.n > 0
  ), r AS MATERIALIZED (
    SELECT p.*, u.id AS job, u.seq, row_number() OVER (PARTITION BY p.i ORDER BY u.seq) AS k
    FROM p CROSS JOIN LATERAL (
      SELECT u.id, u.seq FROM url u WHERE u.lane = p.lane AND u.seq > p.head ORDER BY u.seq LIMIT p.n + 1
    ) u
  ), leased AS (
    INSERT INTO lease (job, crawl, lock, worker, queue, lane, host, team, started_at, expires_at)
    SELECT r.job, q_crawl[r.nth], lock_ # r.job, taker, q_id[r.nth], r.lane, r.host, q_team[r.nth], this_moment,
      this_moment + lease_us
    FROM r WHERE r.k <= r.n
  ), moved AS (
    SELECT r.i, max(r.seq) FILTER (WHERE r.k <= r.n) AS head, max(r.job) FILTER (WHERE r.k > r.n) AS next
    FROM r GROUP BY r.i
  )
  SELECT (SELECT array_agg(r.job ORDER BY r.i, r.k) FROM r WHERE r.k <= r.n),
    (SELECT array_agg(r.i ORDER BY r.i, r.k) FROM r WHERE r.k <= r.n),
    (SELECT array_agg(m.i ORDER BY m.i) FROM moved m), (SELECT array_agg(m.head ORDER BY m.i) FROM moved m),
    (SELECT array_agg(m.next ORDER BY m.i) FROM moved m)
  INTO jobs, j_lane, m_lane, m_head, m_ord;
END $$;

-- What a round has come to, each row once, by where it lies. No index may be used: with a small table before it, the
-- planner would go through a whole one, and keep to that when the table has grown.
CREATE FUNCTION write_v1(
  this_moment bigint, l_at tid[], l_id bigint[], l_got bigint[], l_state bigint[], l_head bigint[], l_ord bigint[],
  h_at tid[], h_id bigint[], h_got bigint[], h_open bigint[], h_waits bigint[], h_gave bigint[], h_trusted boolean[],
  q_at tid[], q_id bigint[], q_got bigint[], q_less bigint[], q_turn bigint[], q_shelf bigint[],
  t_at tid[], t_id bigint[], t_got bigint[], t_turn bigint[], t_clock bigint[])
RETURNS void LANGUAGE plpgsql VOLATILE SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
  UPDATE lane l SET head = c.head, ord = coalesce(c.ord, l.ord), state = c.state,
    parked_at = CASE WHEN c.state = 2 THEN this_moment ELSE l.parked_at END
  FROM unnest(l_at, l_id, l_got, l_state, l_head, l_ord) AS c(at, id, got, state, head, ord)
  WHERE (c.got > 0 OR c.state > 1) AND l.ctid = c.at AND l.id = c.id;
  UPDATE host h SET active = h.active + c.got, open_at = c.open_at, waiting = h.waiting + c.waits,
    gave_up_at = c.gave, backoffs = CASE WHEN c.trusted THEN 0 ELSE h.backoffs END,
    backoff_since = CASE WHEN c.trusted THEN 0 ELSE h.backoff_since END
  FROM unnest(h_at, h_id, h_got, h_open, h_waits, h_gave, h_trusted) AS c(at, id, got, open_at, waits, gave, trusted)
  WHERE (c.got > 0 OR c.waits > 0 OR c.trusted) AND h.ctid = c.at AND h.id = c.id;
  UPDATE queue q SET active = q.active + c.got, ready = q.ready - c.less, turn = greatest(q.turn, c.turn),
    shelf = c.shelf, next_at = CASE WHEN q.gap > 0 AND c.got > 0 THEN this_moment + q.gap ELSE q.next_at END
  FROM unnest(q_at, q_id, q_got, q_less, q_turn, q_shelf) AS c(at, id, got, less, turn, shelf)
  WHERE (c.got > 0 OR c.less > 0) AND q.ctid = c.at AND q.id = c.id;
  UPDATE team t SET active = t.active + c.got, clock = greatest(t.clock, c.clock), turn = c.turn + c.got * 840
  FROM unnest(t_at, t_id, t_got, t_turn, t_clock) AS c(at, id, got, turn, clock)
  WHERE t.ctid = c.at AND t.id = c.id;
END $$;

-- One look at the queues whose turn it is: plan what each lane gives, in memory, then write each row once.
-- `over`: nothing can be got any more. Left out from now on: `passed_queues`, and `passed_lanes`, whose hosts are
-- locked by others, one of them `blocked_host`. What is known of the hosts comes with the jobs.
CREATE FUNCTION claim_round_v1(
  taker bigint, wanted bigint, kinds bigint[], lease_us bigint, of_crawl bigint, this_moment bigint, settings bigint[],
  INOUT passed_queues bigint[], INOUT passed_lanes bigint[], INOUT spare bigint, INOUT blocked_host bigint,
  OUT jobs bigint[], OUT names text[], OUT gaps bigint[], OUT privates bigint[], OUT backoffs bigint[],
  OUT over boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  q_at tid[]; q_team_at tid[]; q_team bigint[]; q_most bigint[]; q_start bigint[]; q_clock bigint[]; q_id bigint[];
  q_crawl bigint[]; q_stride bigint[]; q_fits bigint[]; q_turn bigint[]; q_shelf bigint[]; q_got bigint[];
  q_less bigint[]; q_lanes bigint[];
  given record;
  l_nth bigint[]; l_at tid[]; l_id bigint[]; l_host bigint[]; l_head bigint[]; l_waiting bigint[]; l_low bigint[];
  l_got bigint[]; l_state bigint[]; l_ord bigint[];
  h_at tid[]; h_id bigint[]; h_room bigint[]; h_interval bigint[]; h_burst bigint[]; h_open bigint[]; h_gave bigint[];
  h_free boolean[]; h_paused bigint[]; h_gap bigint[]; h_name text[]; h_private bigint[]; h_backoffs bigint[];
  h_got bigint[]; h_waits bigint[]; h_trusted boolean[];
  t_at tid[] := '{}'; t_id bigint[] := '{}'; t_got bigint[] := '{}'; t_turn bigint[] := '{}'; t_clock bigint[] := '{}';
  granted bigint; opens bigint;                        -- of the bucket of all public hosts, once it was asked
  total bigint := 0; team_got bigint := 0; still boolean := false;
  virtual bigint; latest bigint; clock bigint; start bigint; room bigint; i int; j int; k int;
BEGIN
  jobs := '{}';
  SELECT array_agg(t.team), array_agg(t.most), array_agg(t.team_turn), array_agg(t.team_clock), array_agg(t.queue),
    array_agg(t.crawl), array_agg(t.stride), array_agg(t.fits), array_agg(t.turn), array_agg(t.shelf),
    array_agg(t.at), array_agg(t.team_at)
  INTO q_team, q_most, q_start, q_clock, q_id, q_crawl, q_stride, q_fits, q_turn, q_shelf, q_at,
    q_team_at
  FROM turns_v1(wanted, of_crawl, kinds, passed_queues, this_moment) t;
  over := q_id IS NULL;
  IF over THEN
    RETURN;
  END IF;
  SELECT array_agg(f.nth), array_agg(f.at), array_agg(f.lane), array_agg(f.host), array_agg(f.head),
    array_agg(f.waiting), array_agg(f.low)
  INTO l_nth, l_at, l_id, l_host, l_head, l_waiting, l_low
  FROM fronts_v1(q_id, q_fits, q_shelf, spare, passed_lanes) f;
  SELECT array_agg(h.ctid), array_agg(h.id), array_agg(h.max_active - h.active), array_agg(h.interval),
    array_agg(h.burst), array_agg(h.open_at), array_agg(h.gave_up_at),
    array_agg(h.private = 1 AND h.own_interval IS NULL), array_agg(h.paused_until), array_agg(h.gap),
    array_agg(h.name), array_agg(h.private), array_agg(h.backoffs)
  INTO h_at, h_id, h_room, h_interval, h_burst, h_open, h_gave, h_free, h_paused, h_gap, h_name,
    h_private, h_backoffs
  FROM (
    SELECT h.*, h.ctid FROM host h WHERE h.id = ANY (ARRAY(SELECT DISTINCT unnest(l_host)))
    FOR NO KEY UPDATE SKIP LOCKED
  ) h;
  q_got := array_fill(0::bigint, ARRAY[cardinality(q_id)]);
  q_less := q_got;
  q_lanes := q_got;
  l_got := array_fill(0::bigint, ARRAY[coalesce(cardinality(l_id), 0)]);
  l_state := array_fill(1::bigint, ARRAY[coalesce(cardinality(l_id), 0)]);
  l_ord := array_fill(NULL::bigint, ARRAY[coalesce(cardinality(l_id), 0)]);
  h_got := array_fill(0::bigint, ARRAY[coalesce(cardinality(h_id), 0)]);
  h_waits := h_got;
  h_trusted := array_fill(false, ARRAY[coalesce(cardinality(h_id), 0)]);

  FOR i IN 1 .. coalesce(cardinality(l_id), 0) LOOP
    k := l_nth[i];
    IF i = 1 OR q_team[k] <> q_team[l_nth[i - 1]] THEN
      team_got := 0;
    END IF;
    q_shelf[k] := greatest(q_shelf[k], l_low[i]);
    room := least(q_fits[k] - q_got[k], q_most[k] - team_got, wanted - total, l_waiting[i]);
    q_lanes[k] := q_lanes[k] + 1;
    CONTINUE WHEN room <= 0;
    j := array_position(h_id, l_host[i]);
    IF j IS NULL THEN
      passed_lanes := passed_lanes || l_id[i];
      blocked_host := l_host[i];
      q_lanes[k] := q_lanes[k] - 1;
      still := true;
      CONTINUE;
    END IF;
    IF h_gave[j] > 0 THEN
      IF this_moment - h_gave[j] < 3600000000 THEN
        l_state[i] := 3;
        q_less[k] := q_less[k] + 1;
        CONTINUE;
      END IF;
      h_gave[j] := 0;
      h_trusted[j] := true;
    END IF;
    room := least(room, h_room[j] - h_got[j]);
    IF h_open[j] > this_moment OR h_paused[j] > this_moment THEN
      room := 0;
    END IF;
    IF room > 0 AND NOT h_free[j] THEN
      -- Generic cell rate algorithm: a bucket's time is that of its next request at the mean rate, and never lies
      -- further back than a burst.
      start := this_moment;
      IF h_interval[j] > 0 THEN
        start := greatest(h_open[j], this_moment - (h_burst[j] - 1) * h_interval[j]);
        room := least(room, (this_moment - start) / h_interval[j] + 1);
      END IF;
      IF settings[7] > 0 THEN
        IF granted IS NULL THEN
          SELECT g.granted, g.opens_at + g.granted * settings[7] INTO granted, opens
          FROM global_tokens_v1(wanted - total, settings[7], settings[8], this_moment) g;
        END IF;
        room := least(room, granted);
        granted := granted - room;
        IF room = 0 THEN
          start := opens;
        END IF;
      END IF;
      h_open[j] := greatest(h_open[j], start + room * h_interval[j]);
    END IF;
    IF room > 0 THEN
      -- With a gap the next request can't be due before this one's claim plus the gap, whatever becomes of it.
      IF h_gap[j] > 0 THEN
        h_open[j] := greatest(h_open[j], this_moment + h_gap[j]);
      END IF;
      l_got[i] := room;
      h_got[j] := h_got[j] + room;
      q_got[k] := q_got[k] + room;
      team_got := team_got + room;
      total := total + room;
    END IF;
    room := greatest(room, 0);
    IF room = l_waiting[i] THEN
      l_state[i] := 0;
      q_less[k] := q_less[k] + 1;
    ELSIF h_got[j] >= h_room[j] OR h_open[j] > this_moment OR h_paused[j] > this_moment THEN
      l_state[i] := 2;
    END IF;
  END LOOP;
  FOR i IN 1 .. coalesce(cardinality(l_id), 0) LOOP
    IF l_state[i] = 2 THEN
      -- Who has got all that was wanted leaves it to the next claim to look at such a lane again: there may be room.
      IF l_got[i] > 0 AND total = wanted THEN
        l_state[i] := 1;
      ELSE
        j := array_position(h_id, l_host[i]);
        h_waits[j] := h_waits[j] + 1;
        q_less[l_nth[i]] := q_less[l_nth[i]] + 1;
      END IF;
    END IF;
  END LOOP;
  IF granted > 0 THEN
    PERFORM global_tokens_v1(-granted, settings[7], settings[8], this_moment);
  END IF;

  -- Each moves back by what it got; who was not served, though its turn had been near, keeps it.
  virtual := (SELECT last_value FROM turn);
  latest := virtual;
  FOR k IN 1 .. cardinality(q_id) LOOP
    IF k = 1 OR q_team[k] <> q_team[k - 1] THEN
      clock := q_clock[k];
      team_got := 0;
    END IF;
    IF q_got[k] > 0 OR q_less[k] > 0 THEN
      still := true;
      clock := greatest(clock, q_turn[k]);
      q_turn[k] := clock + q_got[k] * q_stride[k];
      IF q_less[k] > 0 AND total < wanted THEN
        clock := q_turn[k]; -- it would have been looked at once more
      END IF;
    ELSIF q_lanes[k] = 0 THEN
      still := true;
      passed_queues := passed_queues || q_id[k];
    END IF;
    team_got := team_got + q_got[k];
    IF (team_got > 0 OR clock > q_clock[k]) AND q_team[k] IS DISTINCT FROM q_team[k + 1] THEN
      latest := greatest(latest, q_start[k]);
      t_at := t_at || q_team_at[k];
      t_id := t_id || q_team[k];
      t_got := t_got || team_got;
      t_clock := t_clock || clock;
      t_turn := t_turn || latest;
    END IF;
  END LOOP;
  over := total = 0 AND NOT still;
  spare := CASE WHEN total = 0 THEN least(greatest(4, spare * 4), 256) ELSE spare END;

  IF total > 0 THEN
    SELECT g.* INTO given FROM give_v1(
      taker, lease_us, this_moment, l_id, l_got, l_head, l_nth, l_host, q_id, q_crawl, q_team) g;
    jobs := given.jobs;
    IF coalesce(cardinality(jobs), 0) <> total THEN
      RAISE EXCEPTION 'lanes % promise % jobs, and have %', l_id, total, coalesce(cardinality(jobs), 0);
    END IF;
    SELECT array_agg(h_name[c.h] ORDER BY c.n), array_agg(h_gap[c.h] ORDER BY c.n),
      array_agg(h_private[c.h] ORDER BY c.n),
      array_agg(CASE WHEN h_trusted[c.h] THEN 0 ELSE h_backoffs[c.h] END ORDER BY c.n)
    INTO names, gaps, privates, backoffs
    FROM (
      SELECT array_position(h_id, l_host[u.lane]) AS h, u.n FROM unnest(given.j_lane) WITH ORDINALITY AS u(lane, n)
    ) c;
    FOR n IN 1 .. coalesce(cardinality(given.m_lane), 0) LOOP
      i := given.m_lane[n];
      l_head[i] := given.m_head[n];
      l_ord[i] := given.m_ord[n];
      IF l_ord[i] IS NULL THEN
        l_state[i] := 0;
      ELSIF l_state[i] = 1 THEN
        -- What came back to the end of its lane was discovered long before those that stood in front of it.
        q_shelf[l_nth[i]] := least(q_shelf[l_nth[i]], l_ord[i] >> 8);
      END IF;
    END LOOP;
  END IF;
  IF latest > virtual THEN
    PERFORM setval('turn', latest);
  END IF;
  IF total > 0 OR still THEN
    PERFORM write_v1(
      this_moment, l_at, l_id, l_got, l_state, l_head, l_ord, h_at, h_id, h_got, h_open, h_waits, h_gave, h_trusted,
      q_at, q_id, q_got, q_less, q_turn, q_shelf, t_at, t_id, t_got, t_turn, t_clock);
  END IF;
END $$;

-- The right to write what a job brings home: 56 bits that nobody guesses.
CREATE FUNCTION lock_v1() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT ('x0' || left(translate(gen_random_uuid()::text, '-', ''), 15))::bit(64)::bigint
$$;

-- Jobs wait for hosts that were given up, and are to fail.
CREATE FUNCTION given_up_v1() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM lane l WHERE l.state = 3) OR EXISTS (SELECT 1 FROM host h WHERE h.forsaken);
END $$;

-- If nothing is left that was due, the next search begins here. A clock that was set back takes the mark with it.
CREATE FUNCTION note_woken_v1(due_from bigint, this_moment bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  until bigint := (SELECT last_value FROM woken);
BEGIN
  IF until > this_moment + 60000000 THEN
    PERFORM setval('woken', greatest(0, this_moment - 60000000));
  ELSIF until < this_moment - 1000000
    AND NOT EXISTS (SELECT 1 FROM host h WHERE h.wake_at > due_from AND h.wake_at <= this_moment)
    AND NOT EXISTS (SELECT 1 FROM retry r WHERE r.run_at > due_from AND r.run_at <= this_moment)
  THEN
    PERFORM setval('woken', this_moment);
  END IF;
END $$;

-- µs until something that waits for time alone could be claimed; NULL when nothing does.
CREATE FUNCTION next_wake_v1(due_from bigint, this_moment bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT CASE WHEN w.due_at IS NOT NULL THEN greatest(0, w.due_at - this_moment) END FROM (SELECT least(
    (SELECT min(h.wake_at) FROM host h WHERE h.wake_at > due_from),
    (SELECT min(r.run_at) FROM retry r WHERE r.run_at > due_from),
    (SELECT min(q.next_at) FROM queue q WHERE q.claimable AND q.next_at > this_moment),
    CASE WHEN given_up_v1() THEN this_moment END
  ) AS due_at) w);
END $$;

-- Up to `want` leases, in order, and after them one row without a job: which rows of others stood in the way
-- (`crawl`: a queue, `lock`: a host, `key`: a team), `flags` 1 where jobs wait for hosts that were given up, and in
-- `expires_at` the µs until it is worth asking again. `wait_for` names such rows: they are waited for, which only a
-- transaction may do that holds nothing.
CREATE FUNCTION claim_v1(
  taker bigint, want bigint, kinds bigint[], lease_us bigint, of_crawl bigint, this_moment bigint, settings bigint[],
  wait_for bigint[])
RETURNS TABLE (job bigint, crawl bigint, lock bigint, kind bigint, url text, key bigint, depth bigint, attempts bigint,
               stalls bigint, flags bigint, payload text, hops bytea, host text, gap bigint, private bigint,
               backoffs bigint, expires_at bigint)
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  due_from bigint;
  passed_queues bigint[] := '{}';
  passed_lanes bigint[] := '{}';
  spare bigint := 0;
  blocked_host bigint;
  jobs bigint[] := '{}';
  names text[] := '{}'; gaps bigint[] := '{}'; privates bigint[] := '{}'; refusals bigint[] := '{}'; -- of their hosts
  blocked bigint[];
  wait bigint;
  it record;
BEGIN
  PERFORM 1 FROM worker w WHERE w.id = taker AND w.drain = 0 FOR KEY SHARE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM 1 FROM queue q WHERE q.id = wait_for[1] FOR NO KEY UPDATE;
  PERFORM 1 FROM host h WHERE h.id = wait_for[2] FOR NO KEY UPDATE;
  PERFORM 1 FROM team t WHERE t.id = wait_for[3] FOR NO KEY UPDATE;
  due_from := due_from_v1(this_moment);
  PERFORM retries_due_v1(due_from, this_moment, 200);
  PERFORM wake_hosts_v1(due_from, this_moment, 500);
  LOOP
    WHILE cardinality(jobs) < want LOOP
      SELECT * INTO it FROM claim_round_v1(
        taker, want - cardinality(jobs), kinds, lease_us, of_crawl, this_moment, settings,
        passed_queues, passed_lanes, spare, blocked_host);
      EXIT WHEN it.over;
      jobs := jobs || it.jobs;
      names := names || it.names;
      gaps := gaps || it.gaps;
      privates := privates || it.privates;
      refusals := refusals || it.backoffs;
      passed_queues := it.passed_queues;
      passed_lanes := it.passed_lanes;
      spare := it.spare;
      blocked_host := it.blocked_host;
    END LOOP;
    -- Lanes woken above may have met a full team since: their hosts' next waiters are to have the slots.
    EXIT WHEN cardinality(jobs) >= want OR wake_hosts_v1(due_from, this_moment, 500) = 0;
  END LOOP;
  RETURN QUERY
    SELECT u.id, u.crawl, l.lock, u.kind, u.url, u.key, u.depth, u.attempts, u.stalls, u.flags, u.payload, u.hops,
      j.name, j.gap, j.private, j.refusals, l.expires_at
    FROM unnest(jobs, names, gaps, privates, refusals) WITH ORDINALITY AS j(job, name, gap, private, refusals, nth)
    CROSS JOIN LATERAL (SELECT u.* FROM url u WHERE u.id = j.job OFFSET 0) u
    CROSS JOIN LATERAL (SELECT l.* FROM lease l WHERE l.job = j.job OFFSET 0) l ORDER BY j.nth;
  PERFORM note_woken_v1(due_from, this_moment);
  blocked := ARRAY[NULL, blocked_host, NULL];
  IF cardinality(jobs) = 0 THEN
    -- What could be claimed from and was not given is locked: it, or its team.
    SELECT q.id, q.team INTO it FROM queue q
    CROSS JOIN LATERAL (SELECT t.* FROM team t WHERE t.id = q.team OFFSET 0) t
    WHERE q.claimable AND q.next_at <= this_moment AND q.class = ANY (kinds) AND t.active < t.max_active
      AND (of_crawl IS NULL OR q.crawl = of_crawl) AND q.id <> ALL (passed_queues) LIMIT 1;
    blocked := ARRAY[it.id, blocked_host, it.team];
    wait := next_wake_v1(due_from, this_moment);
  END IF;
  RETURN QUERY SELECT NULL::bigint, blocked[1], blocked[2], NULL::bigint, NULL::text, blocked[3], NULL::bigint,
    NULL::bigint, NULL::bigint, given_up_v1()::int::bigint, NULL::text, NULL::bytea,
    NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, wait;
END $$;

-- URLs that wait for hosts that were given up fail, up to `bound` of them; how many. Begins a transaction.
CREATE FUNCTION fail_given_up_v1(this_moment bigint, bound bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  lanes bigint[];
  crawls bigint[];
  failed bigint := 0;
  it record;
BEGIN
  SELECT array_agg(s.id), array_agg(DISTINCT q.crawl) INTO lanes, crawls FROM (
    (SELECT l.id, l.queue FROM lane l WHERE l.state = 3 LIMIT 20)
    UNION ALL
    (SELECT l.id, l.queue FROM host h JOIN lane l ON l.host = h.id AND l.state = 2 WHERE h.forsaken LIMIT 20)
  ) s JOIN queue q ON q.id = s.queue;
  IF lanes IS NULL THEN
    RETURN 0;
  END IF;
  PERFORM 1 FROM crawl c WHERE c.id = ANY (crawls) ORDER BY c.id FOR NO KEY UPDATE;
  PERFORM 1 FROM queue q WHERE q.crawl = ANY (crawls) ORDER BY q.id FOR NO KEY UPDATE;
  PERFORM 1 FROM host h WHERE h.id = ANY (ARRAY(SELECT l.host FROM lane l WHERE l.id = ANY (lanes)))
  ORDER BY h.id FOR NO KEY UPDATE;
  FOR it IN
    SELECT l.id, l.state, h.id AS host, h.name, coalesce(h.gave_up_code, 'host_down') AS code, q.crawl,
      coalesce((SELECT c.status = 0 FROM crawl c WHERE c.id = q.crawl), false) AS running
    FROM lane l JOIN host h ON h.id = l.host JOIN queue q ON q.id = l.queue
    WHERE l.id = ANY (lanes) AND (l.state = 3 OR (l.state = 2 AND h.gave_up_at > 0)) ORDER BY l.id
  LOOP
    EXIT WHEN failed >= bound;
    IF it.state = 2 THEN
      UPDATE host SET waiting = waiting - 1 WHERE id = it.host;
    END IF;
    IF it.running THEN
      failed := failed + fail_lane_v1(this_moment, it.crawl, it.id, it.code, it.name || CASE it.code
        WHEN 'rate_limited' THEN ' kept refusing with 429 or 503; its remaining pages were given up'
        ELSE ' could not be reached; its remaining pages were given up' END, bound - failed);
    END IF;
    UPDATE lane l SET state = CASE WHEN l.head < l.tail AND it.running THEN 3 ELSE 0 END WHERE l.id = it.id;
  END LOOP;
  PERFORM complete_v1(this_moment, crawls);
  RETURN failed;
END $$;

-- Leases of the dead, and all past their expiry, return to waiting; the dead lose their worker rows, for which whoever
-- is claiming under one is waited for. How many leases. Begins a transaction.
CREATE FUNCTION reap_v1(dead bigint[], this_moment bigint, settings bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  crawls bigint[];
  jobs bigint[]; crawl_of bigint[]; queues bigint[]; hosts bigint[]; teams bigint[];
  it record;
BEGIN
  PERFORM 1 FROM worker w WHERE w.id = ANY (dead) ORDER BY w.id FOR UPDATE;
  DELETE FROM worker w WHERE w.id = ANY (dead);
  crawls := ARRAY(SELECT DISTINCT l.crawl FROM lease l WHERE l.expires_at <= this_moment OR l.worker = ANY (dead));
  IF cardinality(crawls) = 0 THEN
    RETURN 0;
  END IF;
  PERFORM 1 FROM crawl c WHERE c.id = ANY (crawls) ORDER BY c.id FOR NO KEY UPDATE;
  WITH gone AS (
    DELETE FROM lease l WHERE (l.expires_at <= this_moment OR l.worker = ANY (dead)) AND l.crawl = ANY (crawls)
    RETURNING l.job, l.crawl, l.queue, l.host, l.team
  )
  SELECT array_agg(g.job ORDER BY g.job), array_agg(g.crawl ORDER BY g.job), array_agg(g.queue ORDER BY g.job),
    array_agg(g.host ORDER BY g.job), array_agg(g.team ORDER BY g.job)
  INTO jobs, crawl_of, queues, hosts, teams FROM gone g;
  IF jobs IS NULL THEN
    RETURN 0;
  END IF;
  PERFORM 1 FROM queue q WHERE q.crawl = ANY (crawls) ORDER BY q.id FOR NO KEY UPDATE;
  FOR it IN SELECT u.id, count(*) AS n FROM unnest(queues) AS u(id) GROUP BY u.id LOOP
    UPDATE queue q SET active = q.active - it.n,
      next_at = CASE WHEN q.gap > 0 THEN this_moment + q.gap ELSE q.next_at END
    WHERE q.id = it.id;
  END LOOP;
  FOR it IN
    SELECT f.job, f.crawl, 0::bigint AS stalls FROM unnest(jobs, crawl_of) AS f(job, crawl)
    CROSS JOIN LATERAL (SELECT c.status FROM crawl c WHERE c.id = f.crawl OFFSET 0) c WHERE c.status = 0
  LOOP
    UPDATE url u SET stalls = u.stalls + 1 WHERE u.id = it.job RETURNING u.stalls INTO it.stalls;
    IF it.stalls >= 9 THEN
      PERFORM end_waiting_v1(this_moment, it.crawl, ARRAY[it.job], 1, 'stalled',
        it.stalls || ' workers that ran this job died or hung over it');
    ELSE
      PERFORM requeue_v1(it.job);
    END IF;
  END LOOP;
  PERFORM settle_v1(this_moment, settings, crawls, hosts, teams);
  -- Nobody knows when the last request to a slow host began: keep the whole pause from now.
  UPDATE host h SET open_at = greatest(h.open_at, this_moment + h.gap) WHERE h.id = ANY (hosts) AND h.gap > 0;
  RETURN cardinality(jobs);
END $$;

-- Safety net: lanes that hold work though they are marked empty, and hosts that were due long before all that was due
-- had been seen to. Finding one means a bug elsewhere. Begins a transaction.
CREATE FUNCTION unpark_v1(this_moment bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  lanes bigint[];
  queues bigint[];
  found_ bigint := 0;
  it record;
BEGIN
  SELECT array_agg(s.id), array_agg(DISTINCT s.queue) INTO lanes, queues FROM (
    SELECT l.id, l.queue FROM lane l
    CROSS JOIN LATERAL (SELECT q.closed FROM queue q WHERE q.id = l.queue OFFSET 0) q
    WHERE l.sleeping AND q.closed = 0 LIMIT 1000
  ) s;
  PERFORM 1 FROM queue q WHERE q.id = ANY (queues) ORDER BY q.id FOR NO KEY UPDATE;
  FOR it IN
    UPDATE lane l SET state = 1 FROM queue q
    WHERE l.id = ANY (lanes) AND l.sleeping AND q.id = l.queue AND q.closed = 0 RETURNING l.queue, l.ord
  LOOP
    PERFORM ready_v1(it.queue, it.ord);
    found_ := found_ + 1;
  END LOOP;
  RETURN found_ + wake_hosts_v1(-1, due_from_v1(this_moment), 500);
END $$;

-- A slot at this host for one request at once, of which nobody else is in line: its gap, privacy and back-offs, or no
-- row where it has no room now. The caller holds the host.
CREATE FUNCTION slot_v1(host_ bigint, this_moment bigint, settings bigint[])
RETURNS TABLE (gap bigint, private bigint, backoffs bigint) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  h record;
  opens bigint;
  tokens record;
BEGIN
  UPDATE host t SET gave_up_at = 0, backoffs = 0, backoff_since = 0
  WHERE t.id = host_ AND (t.gave_up_at > 0 OR (t.backoffs > 0 AND t.open_at <= this_moment));
  SELECT t.* INTO h FROM host t WHERE t.id = host_;
  IF h.waiting > 0 OR h.active >= h.max_active OR h.open_at > this_moment OR h.paused_until > this_moment THEN
    RETURN;
  END IF;
  opens := h.open_at;
  IF h.private = 0 OR h.own_interval IS NOT NULL THEN
    opens := this_moment;
    IF h.interval > 0 THEN
      opens := greatest(h.open_at, this_moment - (h.burst - 1) * h.interval);
    END IF;
    IF settings[7] > 0 THEN
      SELECT * INTO tokens FROM global_tokens_v1(1, settings[7], settings[8], this_moment);
      IF tokens.granted = 0 THEN
        RETURN;
      END IF;
    END IF;
    opens := opens + h.interval;
  END IF;
  UPDATE host t SET active = t.active + 1,
    open_at = greatest(t.open_at, opens, CASE WHEN t.gap > 0 THEN this_moment + t.gap END)
  WHERE t.id = host_;
  RETURN QUERY SELECT h.gap, h.private, h.backoffs;
END $$;

-- A scrape whose crawl was written with the counters of its one job: the job, and its lease, where every gate has room
-- and nobody waits at its host; else no row, and the counters are taken back. The caller holds host and team.
CREATE FUNCTION take_v1(
  crawl_ bigint, team_ bigint, host_ bigint, taker bigint, lease_us bigint, kind_ bigint, depth_ bigint, flags_ bigint,
  url_ text, payload_ text, this_moment bigint, settings bigint[])
RETURNS TABLE (job bigint, lock bigint, gap bigint, private bigint, backoffs bigint) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  virtual bigint;
  latest bigint;
BEGIN
  PERFORM 1 FROM team t WHERE t.id = team_ AND t.active < t.max_active;
  IF FOUND THEN
    SELECT s.gap, s.private, s.backoffs INTO gap, private, backoffs FROM slot_v1(host_, this_moment, settings) s;
  END IF;
  IF gap IS NULL THEN
    UPDATE crawl c SET open = 0, discovered = 0, sitemap_urls = 0 WHERE c.id = crawl_;
    RETURN;
  END IF;
  job := nextval('job_number');
  lock := lock_v1();
  INSERT INTO url (id, crawl, key, host, lane, kind, depth, flags, url, payload)
    VALUES (job, crawl_, job, host_, 0, kind_, depth_, flags_, url_, payload_);
  INSERT INTO lease (job, crawl, lock, worker, queue, lane, host, team, started_at, expires_at)
    VALUES (job, crawl_, lock, taker, 0, 0, host_, team_, this_moment, this_moment + lease_us);
  SELECT s.last_value INTO virtual FROM turn s;
  UPDATE team t SET active = t.active + 1, turn = greatest(t.turn, virtual) + 840 WHERE t.id = team_
    RETURNING t.turn - 840 INTO latest;
  IF latest > virtual THEN
    PERFORM setval('turn', latest);
  END IF;
  RETURN NEXT;
END $$;
