-- What people do to single jobs, and the clearing up after crawls that ended. The order of locks stands in the package's
-- docstring.

-- It runs, or has completed and is kept: one that was stopped, or is forgotten, stays so. The caller holds it.
CREATE FUNCTION may_go_on_v1(now_ bigint, crawl_ bigint) RETURNS boolean LANGUAGE sql AS $$
  SELECT coalesce((SELECT c.status IN (0, 1) AND c.swept <> 2 AND c.erased_at IS NULL
    AND coalesce(c.ended_at + c.ttl > now_, true) FROM crawl c WHERE c.id = crawl_), false);
$$;

-- A completed crawl has jobs in line again. Its deadline runs anew, and nobody is told yet that it is over. When its last
-- page was asked for is forgotten with its queues: a delay is kept from now on. The caller holds it and its queues.
CREATE FUNCTION go_on_v1(now_ bigint, crawl_ bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE crawl SET status = 0, ended_at = NULL,
      deadline_at = CASE WHEN deadline IS NULL THEN deadline_at ELSE now_ + deadline END
    WHERE id = crawl_ AND status <> 0;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  UPDATE queue q SET closed = c.paused * 2,
      next_at = CASE WHEN q.gap > 0 THEN greatest(q.next_at, now_ + q.gap) ELSE q.next_at END
    FROM crawl c WHERE q.crawl = crawl_ AND c.id = crawl_;
  PERFORM 1 FROM outbox_lane l WHERE l.crawl = crawl_ FOR UPDATE;
  DELETE FROM outbox WHERE crawl = crawl_ AND kind IN (4, 8, 16) AND lock = 0 AND attempts = 0;
  DELETE FROM erasure WHERE crawl = crawl_;
END $$;

-- Nothing of a running crawl is claimed until it is let go; whether that changed. It keeps no old turns. Begins a
-- transaction, or comes after others of this kind whose crawls have lower numbers.
CREATE FUNCTION pause_v1(crawl_ bigint, paused_ bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM crawl c WHERE c.id = crawl_ FOR NO KEY UPDATE;
  UPDATE crawl SET paused = paused_ WHERE id = crawl_ AND status + 0 = 0 AND paused <> paused_;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM 1 FROM queue q WHERE q.crawl = crawl_ ORDER BY q.id FOR NO KEY UPDATE;
  UPDATE queue q SET closed = paused_ * 2, turn = greatest(q.turn, (SELECT t.clock FROM team t WHERE t.id = q.team))
    WHERE q.crawl = crawl_ AND q.closed = 2 - paused_ * 2;
  RETURN true;
END $$;

-- Failed and cancelled jobs go back to waiting, as if for the first time; how many. A page that could not be had under
-- its own URL but came by another one is left: it would be there twice.
CREATE FUNCTION retry_jobs_v1(now_ bigint, settings bigint[], jobs bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  crawls bigint[] := ARRAY(SELECT DISTINCT u.crawl FROM url u WHERE u.id = ANY (jobs));
  hosts bigint[] := '{}';
  retried bigint := 0;
  it record;
BEGIN
  PERFORM 1 FROM crawl c WHERE c.id = ANY (crawls) ORDER BY c.id FOR NO KEY UPDATE;
  PERFORM 1 FROM queue q WHERE q.crawl = ANY (crawls) ORDER BY q.id FOR NO KEY UPDATE;
  FOR it IN SELECT e.state, e.seq, u.id AS job, u.crawl, u.flags & 1 AS counted, u.host, u.key, u.url, c.keep_variants
    FROM (SELECT s.job, min(s.i) AS i FROM unnest(jobs) WITH ORDINALITY s(job, i) GROUP BY s.job) j
    JOIN ended e ON e.job = j.job JOIN url u ON u.id = e.job JOIN crawl c ON c.id = u.crawl
    WHERE e.state IN (1, 4) AND e.other IS NULL AND u.host IS NOT NULL AND may_go_on_v1(now_, u.crawl) ORDER BY j.i
  LOOP
    DELETE FROM ended WHERE job = it.job;
    UPDATE crawl SET open = open + 1,
        failed = failed - CASE WHEN it.state = 1 THEN it.counted ELSE 0 END,
        cancelled = cancelled - CASE WHEN it.state = 4 THEN it.counted ELSE 0 END,
        documents = documents - CASE WHEN it.seq IS NULL THEN 0 ELSE 1 END,
        superseded = superseded + CASE WHEN it.seq IS NULL THEN 0 ELSE 1 END
      WHERE id = it.crawl;
    IF it.seq IS NOT NULL THEN
      UPDATE document SET superseded = 1 WHERE crawl = it.crawl AND seq = it.seq;
    END IF;
    IF it.keep_variants = 1 THEN
      UPDATE variant SET tried = 0 WHERE crawl = it.crawl AND key = it.key AND url <> it.url;
    END IF;
    -- Of a job that took workers down: retried, it still runs alone.
    UPDATE url SET attempts = 0, stalls = least(stalls, 2), hops = '' WHERE id = it.job;
    PERFORM requeue_v1(it.job);
    PERFORM go_on_v1(now_, it.crawl);
    hosts := hosts || it.host;
    retried := retried + 1;
  END LOOP;
  PERFORM trust_v1(now_, hosts);
  RETURN retried;
END $$;

-- These positions of a lane are given up. The last in line move into the gaps: nobody comes later by it. The caller
-- holds the queue and, where the lane is parked, the host.
CREATE FUNCTION leave_v1(lane_ bigint, gone bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  it record;
  head_ bigint;
  tail_ bigint;
BEGIN
  SELECT l.head, l.tail INTO it FROM lane l WHERE l.id = lane_;
  UPDATE url SET seq = NULL WHERE lane = lane_ AND seq = ANY (gone);
  head_ := it.head;
  WHILE head_ + 1 = ANY (gone) LOOP
    head_ := head_ + 1;
  END LOOP;
  tail_ := it.tail - (SELECT count(*) FROM unnest(gone) g(seq) WHERE g.seq > head_);
  WITH gaps AS (
    SELECT g.seq, row_number() OVER (ORDER BY g.seq) AS n FROM unnest(gone) g(seq) WHERE g.seq > head_ AND g.seq <= tail_
  ), movers AS (
    SELECT u.id, row_number() OVER (ORDER BY u.seq) AS n FROM url u WHERE u.lane = lane_ AND u.seq > tail_
  )
  UPDATE url u SET seq = g.seq FROM gaps g JOIN movers m ON m.n = g.n WHERE u.id = m.id;
  UPDATE lane SET head = head_, tail = tail_,
      ord = coalesce((SELECT u.id FROM url u WHERE u.lane = lane_ AND u.seq = head_ + 1), ord)
    WHERE id = lane_;
  -- Whoever moved to the front may have been discovered before those on any other shelf.
  UPDATE queue q SET shelf = least(q.shelf, l.shelf) FROM lane l WHERE l.id = lane_ AND q.id = l.queue AND l.state = 1;
  PERFORM settle_lane_v1(lane_);
END $$;

-- Jobs that wait end as cancelled; what runs, runs on. How many.
CREATE FUNCTION cancel_jobs_v1(now_ bigint, settings bigint[], jobs bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  crawls bigint[] := ARRAY(SELECT DISTINCT u.crawl FROM url u WHERE u.id = ANY (jobs));
  cancelled bigint := 0;
  open_ bigint[];
  it record;
BEGIN
  PERFORM 1 FROM crawl c WHERE c.id = ANY (crawls) ORDER BY c.id FOR NO KEY UPDATE;
  PERFORM 1 FROM queue q WHERE q.crawl = ANY (crawls) ORDER BY q.id FOR NO KEY UPDATE;
  open_ := ARRAY(
    SELECT u.id FROM url u JOIN crawl c ON c.id = u.crawl
    WHERE u.id = ANY (jobs) AND u.lane IS NOT NULL AND c.status + 0 = 0
      AND NOT EXISTS (SELECT 1 FROM ended e WHERE e.job = u.id)
      AND NOT EXISTS (SELECT 1 FROM lease l WHERE l.job = u.id));
  PERFORM 1 FROM host h WHERE h.id IN (
      SELECT l.host FROM url u JOIN lane l ON l.id = u.lane WHERE u.id = ANY (open_) AND l.state = 2)
    ORDER BY h.id FOR NO KEY UPDATE;
  FOR it IN SELECT u.crawl, array_agg(u.id) AS jobs FROM url u WHERE u.id = ANY (open_) GROUP BY u.crawl ORDER BY u.crawl
  LOOP
    DELETE FROM retry r USING url u JOIN lane l ON l.id = u.lane
      WHERE u.id = ANY (it.jobs) AND r.crawl = it.crawl AND r.job = u.id AND (u.seq > l.head) IS NOT TRUE;
    PERFORM end_waiting_v1(now_, it.crawl, it.jobs, 4, 'cancelled', 'somebody cancelled this page');
    cancelled := cancelled + cardinality(it.jobs);
  END LOOP;
  FOR it IN SELECT l.id, array_agg(u.seq) AS gone FROM url u JOIN lane l ON l.id = u.lane AND u.seq > l.head
    WHERE u.id = ANY (open_) GROUP BY l.id
  LOOP
    PERFORM leave_v1(it.id, it.gone);
  END LOOP;
  PERFORM complete_v1(now_, crawls);
  RETURN cancelled;
END $$;

-- The clock was set back: what waits for a time that no rule could have set may go on now. What is locked waits for the
-- next round.
CREATE FUNCTION mend_times_v1(now_ bigint, settings bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  horizon CONSTANT bigint := now_ + 2 * greatest(settings[6], 60000000);
BEGIN
  UPDATE host h SET open_at = now_ + h.gap, freed_at = least(h.freed_at, now_) FROM (
      SELECT s.id FROM host s WHERE s.wake_at > horizon AND s.waiting > 0 AND s.open_at > horizon + s.gap
      FOR NO KEY UPDATE SKIP LOCKED) m
    WHERE h.id = m.id;
  UPDATE queue q SET next_at = now_ + q.gap FROM (
      SELECT s.id FROM queue s WHERE s.claimable AND s.gap > 0 AND s.next_at > now_ + 2 * s.gap
      FOR NO KEY UPDATE SKIP LOCKED) m
    WHERE q.id = m.id;
  UPDATE retry r SET run_at = now_ FROM (
      SELECT s.run_at, s.job FROM retry s WHERE s.run_at > horizon FOR UPDATE SKIP LOCKED) m
    WHERE r.run_at = m.run_at AND r.job = m.job;
  IF (SELECT last_value FROM global_open) > now_ + 60000000 THEN
    PERFORM setval('global_open', now_ + 60000000);
  END IF;
END $$;

-- What waits in crawls that are past their deadline fails; rows touched.
CREATE FUNCTION past_deadline_v1(now_ bigint, bound bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  message CONSTANT text := 'the crawl''s deadline passed before this page was fetched';
  touched bigint := 0;
  due bigint[] := ARRAY(SELECT c.id FROM crawl c WHERE c.status = 0 AND c.deadline_at <= now_ LIMIT 20);
  jobs bigint[];
  it record;
BEGIN
  IF cardinality(due) = 0 THEN
    RETURN 0;
  END IF;
  PERFORM 1 FROM crawl c WHERE c.id = ANY (due) ORDER BY c.id FOR NO KEY UPDATE;
  due := ARRAY(SELECT c.id FROM crawl c WHERE c.id = ANY (due) AND c.status + 0 = 0 AND c.deadline_at <= now_ ORDER BY c.id);
  -- Pages in flight may still bring links home: those are never claimed, and fail in the next round.
  PERFORM 1 FROM queue q WHERE q.crawl = ANY (due) ORDER BY q.id FOR NO KEY UPDATE;
  UPDATE queue SET closed = 1 WHERE crawl = ANY (due) AND closed <> 1;
  FOR it IN SELECT unnest(due) AS crawl LOOP
    WITH gone AS (
      DELETE FROM retry r USING (SELECT s.run_at, s.job FROM retry s WHERE s.crawl = it.crawl LIMIT bound FOR UPDATE) s
        WHERE r.run_at = s.run_at AND r.job = s.job RETURNING r.job
    )
    SELECT array_agg(job) INTO jobs FROM gone;
    IF jobs IS NOT NULL THEN
      PERFORM end_waiting_v1(now_, it.crawl, jobs, 1, 'crawl_deadline', message);
      touched := touched + cardinality(jobs);
    END IF;
  END LOOP;
  jobs := ARRAY(SELECT l.id FROM queue q JOIN lane l ON l.queue = q.id WHERE q.crawl = ANY (due) AND l.head < l.tail
    LIMIT 200);
  PERFORM 1 FROM host h WHERE h.id IN (SELECT l.host FROM lane l WHERE l.id = ANY (jobs) AND l.state = 2)
    ORDER BY h.id FOR NO KEY UPDATE;
  FOR it IN SELECT l.id, q.crawl FROM lane l JOIN queue q ON q.id = l.queue WHERE l.id = ANY (jobs) LOOP
    touched := touched + fail_lane_v1(now_, it.crawl, it.id, 'crawl_deadline', message, bound);
    PERFORM settle_lane_v1(it.id);
  END LOOP;
  PERFORM complete_v1(now_, due);
  RETURN touched;
END $$;

-- Lanes, retries and queues of ended crawls go, once nothing of them runs any more; rows touched.
CREATE FUNCTION clear_ended_v1(bound bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  touched bigint := 0;
  n bigint;
  due bigint[] := ARRAY(SELECT c.id FROM crawl c WHERE c.status <> 0 AND c.swept = 0 LIMIT 20);
  busy bigint[];
  lanes bigint[];
  it record;
BEGIN
  IF cardinality(due) = 0 THEN
    RETURN 0;
  END IF;
  PERFORM 1 FROM crawl c WHERE c.id = ANY (due) ORDER BY c.id FOR NO KEY UPDATE;
  due := ARRAY(SELECT c.id FROM crawl c WHERE c.id = ANY (due) AND c.status > 0 AND c.swept + 0 = 0 ORDER BY c.id);
  PERFORM 1 FROM queue q WHERE q.crawl = ANY (due) ORDER BY q.id FOR NO KEY UPDATE;
  DELETE FROM retry r USING (SELECT s.run_at, s.job FROM retry s WHERE s.crawl = ANY (due) LIMIT bound FOR UPDATE) s
    WHERE r.run_at = s.run_at AND r.job = s.job;
  GET DIAGNOSTICS touched = ROW_COUNT;
  busy := ARRAY(SELECT DISTINCT l.lane FROM lease l WHERE l.crawl = ANY (due));
  lanes := ARRAY(SELECT l.id FROM queue q JOIN lane l ON l.queue = q.id WHERE q.crawl = ANY (due) AND l.id <> ALL (busy)
    LIMIT bound);
  PERFORM 1 FROM host h WHERE h.id IN (SELECT l.host FROM lane l WHERE l.id = ANY (lanes) AND l.state = 2)
    ORDER BY h.id FOR NO KEY UPDATE;
  WITH gone AS (
    DELETE FROM lane l WHERE l.id = ANY (lanes) RETURNING l.queue, l.host, l.state
  ), unparked AS (
    UPDATE host h SET waiting = h.waiting - g.n FROM (SELECT host, count(*) AS n FROM gone WHERE state = 2 GROUP BY host) g
      WHERE h.id = g.host
  ), fewer AS (
    UPDATE queue q SET ready = q.ready - g.n FROM (SELECT queue, count(*) AS n FROM gone WHERE state = 1 GROUP BY queue) g
      WHERE q.id = g.queue
  )
  SELECT count(*) INTO n FROM gone;
  touched := touched + n;
  IF touched < bound THEN
    FOR it IN SELECT d.id FROM unnest(due) d(id) WHERE NOT EXISTS (SELECT 1 FROM lease l WHERE l.crawl = d.id) LOOP
      DELETE FROM queue WHERE crawl = it.id;
      UPDATE crawl SET swept = 1 WHERE id = it.id;
    END LOOP;
  END IF;
  RETURN touched;
END $$;
