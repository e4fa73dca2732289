-- What a step does to crawls: ends of jobs, links admitted and refused, slots given back, completion. The order of locks
-- stands in the package's docstring. Functions carry their version; parameters end in an underscore where a column has
-- the name. `settings` are the operator's, in the order of `tx.settings_of`.

-- Hosts by name, made where they are missing. To be called before anything is locked. Without a name nobody is asked, and
-- nothing holds it back: as at a private address.
CREATE FUNCTION hosts_v1(names text[], shy_ bigint, settings bigint[]) RETURNS TABLE (name text, id bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO host (name, shy, private, max_active, interval, burst)
    SELECT s.n, CASE WHEN s.n = '' THEN 0 ELSE shy_ END, (s.n = '')::int,
      CASE WHEN s.n = '' THEN 1099511627776 WHEN shy_ = 1 THEN 1 ELSE settings[1] END, settings[2], settings[3]
    FROM (SELECT DISTINCT unnest(names) AS n) s
    WHERE NOT EXISTS (SELECT 1 FROM host h WHERE h.name = s.n) ORDER BY s.n COLLATE "C"
    ON CONFLICT (name) DO NOTHING;
  RETURN QUERY SELECT h.name, h.id FROM host h WHERE h.name = ANY (names);
END $$;

-- The crawl's queue of this class, made where it is missing: then the caller holds the crawl.
CREATE FUNCTION queue_v1(crawl_ bigint, class_ bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  found_ bigint;
BEGIN
  SELECT q.id INTO found_ FROM queue q WHERE q.crawl = crawl_ AND q.class = class_;
  IF found_ IS NULL THEN
    -- One at a time with a pause, where the crawl has a delay (as Firecrawl does).
    INSERT INTO queue (crawl, class, team, max_active, gap, turn, closed, stride)
      SELECT c.id, class_, c.team, CASE WHEN class_ NOT IN (2, 4) THEN 1099511627776 WHEN c.gap > 0 THEN 1
          ELSE coalesce(c.max_active, 1099511627776) END,
        CASE WHEN class_ IN (2, 4) THEN c.gap ELSE 0 END, (SELECT t.clock FROM team t WHERE t.id = c.team), c.paused * 2,
        168 * (10 - c.priority) / (ARRAY[8, 4, 1, 4, 1])[class_ + 1]
      FROM crawl c WHERE c.id = crawl_ RETURNING queue.id INTO found_;
    UPDATE crawl SET swept = 0 WHERE id = crawl_ AND swept <> 0;
  END IF;
  RETURN found_;
END $$;

-- A lane of this queue, with `head_` at its head, can be claimed from; a queue that was idle joins at its team's present
-- turn. The caller holds the queue.
CREATE FUNCTION ready_v1(queue_ bigint, head_ bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE queue q SET ready = q.ready + 1, shelf = least(q.shelf, head_ >> 8), turn = CASE WHEN q.ready = 0
    THEN greatest(q.turn, (SELECT t.clock FROM team t WHERE t.id = q.team)) ELSE q.turn END
  WHERE q.id = queue_;
END $$;

-- A job that has not ended goes back to waiting, perhaps on another host's lane. The caller holds its queue, or its
-- crawl where there may be none.
CREATE FUNCTION requeue_v1(job_ bigint, host_ bigint DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  it record;
  queue_ bigint;
  lane_ record;
BEGIN
  SELECT u.crawl, u.kind, coalesce(host_, u.host) AS host INTO it FROM url u WHERE u.id = job_;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  queue_ := queue_v1(it.crawl, it.kind);
  SELECT l.id, l.state, l.tail INTO lane_ FROM lane l WHERE l.queue = queue_ AND l.host = it.host;
  IF NOT FOUND THEN
    INSERT INTO lane (queue, host, tail, ord, state) VALUES (queue_, it.host, 1, job_, 1)
      RETURNING id, 0::bigint AS state, 0::bigint AS tail INTO lane_;
  ELSIF lane_.state = 0 THEN
    UPDATE lane SET tail = tail + 1, ord = job_, state = 1 WHERE id = lane_.id;
  ELSE
    UPDATE lane SET tail = tail + 1 WHERE id = lane_.id;
  END IF;
  IF lane_.state = 0 THEN
    PERFORM ready_v1(queue_, job_);
  END IF;
  UPDATE url SET host = it.host, lane = lane_.id, seq = lane_.tail + 1 WHERE id = job_;
END $$;

-- A lane was emptied without being claimed from: it leaves the gate it stood at. The caller holds the queue and, where
-- the lane is parked, the host.
CREATE FUNCTION settle_lane_v1(lane_ bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  it record;
BEGIN
  SELECT l.queue, l.host, l.state INTO it FROM lane l WHERE l.id = lane_ AND l.head >= l.tail;
  IF FOUND AND it.state <> 0 THEN
    IF it.state = 1 THEN
      UPDATE queue SET ready = ready - 1 WHERE id = it.queue;
    ELSIF it.state = 2 THEN
      UPDATE host SET waiting = waiting - 1 WHERE id = it.host;
    END IF;
    UPDATE lane SET state = 0 WHERE id = lane_;
  END IF;
END $$;

-- Events for the outbox, where somebody wants to be told of their kind; a crawl's last event waits for all before it.
-- The caller holds the crawl.
CREATE FUNCTION post_v1(now_ bigint, crawl_ bigint, kind_ bigint, jobs bigint[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  ever CONSTANT bigint := 4611686018427387903;
  last_ CONSTANT boolean := kind_ & 28 <> 0;
BEGIN
  PERFORM 1 FROM crawl c WHERE c.id = crawl_ AND c.events & kind_ <> 0;
  IF NOT FOUND OR cardinality(jobs) = 0 THEN
    RETURN;
  END IF;
  INSERT INTO outbox (crawl, kind, job, uid, created_at, due_at)
    SELECT crawl_, kind_, j.job, gen_random_uuid()::text, now_, CASE WHEN last_ THEN ever ELSE now_ END
    FROM unnest(coalesce(jobs, ARRAY[NULL::bigint])) WITH ORDINALITY j(job, i) ORDER BY j.i;
  INSERT INTO outbox_lane AS l (crawl, next_at) VALUES (crawl_, now_) ON CONFLICT (crawl) DO UPDATE
    SET next_at = greatest(l.held_until, least(l.next_at, excluded.next_at)) WHERE l.busy = 0;
  IF last_ THEN
    UPDATE outbox SET due_at = now_ WHERE crawl = crawl_ AND due_at = ever
      AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.crawl = crawl_ AND o.due_at < ever);
  END IF;
END $$;

-- The crawl ends now: its queues take no further part. The caller holds it.
CREATE FUNCTION end_v1(now_ bigint, crawl_ bigint, status_ bigint, error_ text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  it record;
BEGIN
  UPDATE crawl SET status = status_, ended_at = now_, error = error_,
      swept = CASE WHEN status_ = 1 THEN swept ELSE 0 END -- something of it may run yet
    WHERE id = crawl_ RETURNING swept, erase INTO it;
  IF it.swept = 0 THEN
    PERFORM 1 FROM queue q WHERE q.crawl = crawl_ ORDER BY q.id FOR NO KEY UPDATE;
    UPDATE queue SET closed = 1 WHERE crawl = crawl_;
  END IF;
  IF it.erase = 1 THEN
    INSERT INTO erasure VALUES (crawl_, now_ + 3600000000) ON CONFLICT (crawl) DO UPDATE SET due_at = excluded.due_at;
  END IF;
  PERFORM post_v1(now_, crawl_, CASE status_ WHEN 1 THEN 4 WHEN 3 THEN 8 ELSE 16 END);
END $$;

-- Those of these crawls that have no open job left are complete, here and nowhere else; which. The caller holds them.
CREATE FUNCTION complete_v1(now_ bigint, crawls bigint[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  it bigint;
  completed bigint[] := '{}';
BEGIN
  FOR it IN SELECT c.id FROM crawl c WHERE c.id = ANY (crawls) AND c.status + c.open = 0 ORDER BY c.id LOOP
    PERFORM end_v1(now_, it, 1);
    completed := completed || it;
  END LOOP;
  RETURN completed;
END $$;

-- These jobs, which hold no lease, end without having run (1 failed, 4 cancelled). The caller holds the crawl, sees to
-- their places, and completes it before it commits.
CREATE FUNCTION end_waiting_v1(now_ bigint, crawl_ bigint, jobs bigint[], state_ bigint, code_ text, message_ text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  counted bigint[];
BEGIN
  INSERT INTO ended (job, crawl, state, at, attempts, code, message)
    SELECT u.id, crawl_, state_, now_, u.attempts, code_, message_ FROM url u WHERE u.id = ANY (jobs);
  SELECT coalesce(array_agg(u.id ORDER BY array_position(jobs, u.id)), '{}') INTO counted
    FROM url u WHERE u.id = ANY (jobs) AND u.flags & 1 <> 0;
  UPDATE crawl SET open = open - cardinality(jobs),
      failed = failed + CASE WHEN state_ = 1 THEN cardinality(counted) ELSE 0 END,
      cancelled = cancelled + CASE WHEN state_ = 4 THEN cardinality(counted) ELSE 0 END
    WHERE id = crawl_;
  IF state_ = 1 THEN
    PERFORM post_v1(now_, crawl_, 2, counted);
  END IF;
END $$;

-- Up to `bound` URLs that wait in a lane fail without being fetched; how many. The caller holds crawl and queue.
CREATE FUNCTION fail_lane_v1(now_ bigint, crawl_ bigint, lane_ bigint, code_ text, message_ text, bound bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  jobs bigint[];
  newest bigint;
BEGIN
  SELECT l.head INTO newest FROM lane l WHERE l.id = lane_;
  SELECT array_agg(s.id ORDER BY s.seq), max(s.seq) INTO jobs, newest FROM (
    SELECT u.id, u.seq FROM url u WHERE u.lane = lane_ AND u.seq > newest ORDER BY u.seq LIMIT bound) s;
  IF jobs IS NULL THEN
    RETURN 0;
  END IF;
  PERFORM end_waiting_v1(now_, crawl_, jobs, 1, code_, message_);
  UPDATE lane SET head = newest WHERE id = lane_;
  RETURN cardinality(jobs);
END $$;

-- Refusals enter the ledger: the first reason is kept, and an accepted URL is none. Keys are unique within a crawl.
-- The caller holds the crawls.
CREATE FUNCTION refuse_v1(crawls bigint[], keys bigint[], parents bigint[], reasons text[], rules text[],
  values_ text[], urls text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  WITH fresh AS MATERIALIZED (
    SELECT f.*, row_number() OVER (PARTITION BY f.crawl ORDER BY f.i) <= c.max_denied - c.refused AS fits
    FROM unnest(crawls, keys, parents, reasons, rules, values_, urls) WITH ORDINALITY
      f(crawl, key, parent, reason, rule, value, url, i)
    JOIN crawl c ON c.id = f.crawl
    WHERE (SELECT 1 FROM url u WHERE u.crawl = f.crawl AND u.key = f.key LIMIT 1) IS NULL
      AND (SELECT 1 FROM denied d WHERE d.crawl = f.crawl AND d.key = f.key LIMIT 1) IS NULL
  ), ledger AS (
    INSERT INTO denied (crawl, key, parent, reason, rule, value, url)
      SELECT crawl, key, parent, reason, rule, value, url FROM fresh WHERE fits ORDER BY i
  ), counts AS (
    INSERT INTO denied_count AS n (crawl, reason, n)
      SELECT crawl, reason, count(*) FROM fresh GROUP BY crawl, reason
      ON CONFLICT (crawl, reason) DO UPDATE SET n = n.n + excluded.n
  )
  UPDATE crawl SET refused = refused + f.fit, refused_beyond = refused_beyond + f.beyond
    FROM (SELECT crawl, count(*) FILTER (WHERE fits) AS fit, count(*) FILTER (WHERE NOT fits) AS beyond
          FROM fresh GROUP BY crawl) f
    WHERE crawl.id = f.crawl;
END $$;

-- Admit what these crawls have not seen, in order, within their limits; `over` are the ordinals of what went over them.
-- Keys are unique within a crawl, save in a batch, where each job's own number is its key. `flags`: 1 counted, 2 named
-- by a sitemap. The caller holds the crawls and all their queues.
CREATE FUNCTION admit_v1(as_batch boolean, crawls bigint[], keys bigint[], urls text[], hosts bigint[], kinds bigint[],
  depths bigint[], flags_ bigint[], parents bigint[], payloads text[], OUT admitted bigint, OUT over_ bigint[])
LANGUAGE plpgsql AS $$
DECLARE
  fates bigint[]; -- by ordinal: 0 known, 1 goes into line, 2 is admitted and waits nowhere (a page of a map), 3 over a limit
  jobs bigint[];  -- likewise: its number, 0 for none
  it record;
BEGIN
  IF NOT as_batch AND 2 <= ANY (flags_) THEN
    -- A sitemap names what links have brought before.
    WITH again AS (
      UPDATE url u SET flags = u.flags | 2 FROM unnest(crawls, keys, flags_) f(crawl, key, flag)
        WHERE u.crawl = f.crawl AND u.key = f.key AND f.flag & 2 <> 0 AND u.flags & 2 = 0 RETURNING u.crawl
    )
    UPDATE crawl SET sitemap_urls = sitemap_urls + a.n FROM (SELECT crawl, count(*) AS n FROM again GROUP BY crawl) a
      WHERE crawl.id = a.crawl;
  END IF;
  -- Each probe is a subquery of its own: as a join, or as EXISTS, it may be planned as a look at every URL there is.
  SELECT array_agg(s.fate ORDER BY s.i), count(*) FILTER (WHERE s.fate IN (1, 2)),
      coalesce(array_agg(s.i ORDER BY s.i) FILTER (WHERE s.fate = 3), '{}')
    INTO fates, admitted, over_ FROM (
      SELECT f.i, CASE
          WHEN f.known THEN 0
          WHEN f.kind = 1 AND c.sitemap_files + count(*) FILTER (WHERE f.kind = 1 AND NOT f.known) OVER seen
            > c.max_sitemaps THEN 3
          WHEN f.kind <> 1 AND f.flag & 1 <> 0 AND c.discovered
            + count(*) FILTER (WHERE f.kind <> 1 AND f.flag & 1 <> 0 AND NOT f.known) OVER seen > c.max_pages THEN 3
          WHEN f.kind = 2 AND c.kind = 'map' THEN 2
          ELSE 1 END AS fate
      FROM (
        SELECT u.i, u.crawl, u.kind, u.flag, NOT as_batch AND (
            SELECT 1 FROM url WHERE url.crawl = u.crawl AND url.key = u.key LIMIT 1) IS NOT NULL AS known
        FROM unnest(crawls, keys, kinds, flags_) WITH ORDINALITY u(crawl, key, kind, flag, i) OFFSET 0) f
      LEFT JOIN crawl c ON c.id = f.crawl AND NOT f.known
      WINDOW seen AS (PARTITION BY f.crawl ORDER BY f.i)) s;
  IF admitted > 0 THEN
    FOR it IN SELECT DISTINCT f.crawl, f.kind FROM unnest(crawls, kinds) WITH ORDINALITY f(crawl, kind, i)
      WHERE fates[f.i] = 1 ORDER BY 1, 2
    LOOP
      PERFORM queue_v1(it.crawl, it.kind);
    END LOOP;
    jobs := ARRAY(SELECT CASE WHEN f.fate IN (1, 2) THEN nextval('job_number') ELSE 0 END FROM unnest(fates) f(fate));
    WITH wanted AS MATERIALIZED (
      SELECT s.queue, s.host, count(*) AS n, min(s.job) AS first_job,
        coalesce((SELECT l.state FROM lane l WHERE l.queue = s.queue AND l.host = s.host), 0) = 0 AS wakes
      FROM (
        SELECT (SELECT q.id FROM queue q WHERE q.crawl = f.crawl AND q.class = f.kind) AS queue, f.host, jobs[f.i] AS job
        FROM unnest(crawls, kinds, hosts) WITH ORDINALITY f(crawl, kind, host, i) WHERE fates[f.i] = 1) s
      GROUP BY s.queue, s.host
    ), lined AS (
      INSERT INTO lane AS l (queue, host, tail, ord, state) SELECT queue, host, n, first_job, 1 FROM wanted
        ON CONFLICT (queue, host) DO UPDATE SET tail = l.tail + excluded.tail,
          ord = CASE WHEN l.state = 0 THEN excluded.ord ELSE l.ord END,
          state = CASE WHEN l.state = 0 THEN 1 ELSE l.state END
    )
    UPDATE queue q SET ready = q.ready + w.n, shelf = least(q.shelf, w.low >> 8), turn = CASE WHEN q.ready = 0
        THEN greatest(q.turn, (SELECT t.clock FROM team t WHERE t.id = q.team)) ELSE q.turn END
      FROM (SELECT queue, count(*) AS n, min(first_job) AS low FROM wanted WHERE wakes GROUP BY queue) w
      WHERE q.id = w.queue;
    INSERT INTO url (id, crawl, key, host, lane, seq, kind, depth, flags, parent, url, payload)
      SELECT jobs[f.i], f.crawl, CASE WHEN as_batch THEN jobs[f.i] ELSE f.key END, l.host, l.id,
        l.tail - count(*) OVER (PARTITION BY l.id) + row_number() OVER (PARTITION BY l.id ORDER BY f.i),
        f.kind, f.depth, CASE WHEN f.kind = 1 THEN f.flag & 2 ELSE f.flag END, f.parent, f.url, f.payload
      FROM unnest(crawls, keys, urls, hosts, kinds, depths, flags_, parents, payloads) WITH ORDINALITY
        f(crawl, key, url, host, kind, depth, flag, parent, payload, i)
      LEFT JOIN LATERAL (
        SELECT lane.id, lane.host, lane.tail FROM lane WHERE lane.host = f.host AND fates[f.i] = 1
          AND lane.queue = (SELECT q.id FROM queue q WHERE q.crawl = f.crawl AND q.class = f.kind) OFFSET 0) l ON true
      WHERE jobs[f.i] > 0 ORDER BY jobs[f.i];
    UPDATE crawl c SET open = c.open + f.waiting, discovered = c.discovered + f.pages,
        sitemap_files = c.sitemap_files + f.files, sitemap_urls = c.sitemap_urls + f.named
      FROM (SELECT u.crawl, count(*) FILTER (WHERE fates[u.i] = 1) AS waiting,
              count(*) FILTER (WHERE u.kind <> 1 AND u.flag & 1 <> 0) AS pages,
              count(*) FILTER (WHERE u.kind = 1) AS files, count(*) FILTER (WHERE u.flag & 2 <> 0) AS named
            FROM unnest(crawls, kinds, flags_) WITH ORDINALITY u(crawl, kind, flag, i)
            WHERE jobs[u.i] > 0 GROUP BY u.crawl) f
      WHERE c.id = f.crawl;
    IF EXISTS (SELECT 1 FROM crawl c WHERE c.id = ANY (crawls) AND c.refused > 0) THEN
      -- Accepted beats denied.
      WITH gone AS (
        DELETE FROM denied d USING unnest(crawls, keys) WITH ORDINALITY k(crawl, key, i)
          WHERE d.crawl = k.crawl AND d.key = k.key AND jobs[k.i] > 0 RETURNING d.crawl, d.reason
      ), fewer AS (
        UPDATE denied_count n SET n = n.n - g.n
          FROM (SELECT crawl, reason, count(*) AS n FROM gone GROUP BY crawl, reason) g
          WHERE n.crawl = g.crawl AND n.reason = g.reason
      )
      UPDATE crawl SET refused = refused - g.n FROM (SELECT crawl, count(*) AS n FROM gone GROUP BY crawl) g
        WHERE crawl.id = g.crawl;
    END IF;
  END IF;
  IF cardinality(over_) > 0 THEN
    PERFORM refuse_v1(array_agg(f.crawl), array_agg(f.key), array_agg(f.parent), array_agg('LIMIT_REACHED'::text),
        array_agg(CASE WHEN f.kind = 1 THEN counted_v1(c.max_sitemaps, 'sitemap file')
          ELSE counted_v1(coalesce(c.max_pages, 0), 'page') END), array_agg(f.url), array_agg(f.url))
      FROM unnest(crawls, keys, parents, kinds, urls) WITH ORDINALITY f(crawl, key, parent, kind, url, i)
      JOIN crawl c ON c.id = f.crawl WHERE fates[f.i] = 3;
  END IF;
END $$;

CREATE FUNCTION counted_v1(number bigint, noun text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT to_char(number, 'FM999,999,999,999,999,990') || ' ' || noun || CASE WHEN number = 1 THEN '' ELSE 's' END;
$$;

-- For crawls with a maximum discovery depth: who links to whom, and what a shorter path brings nearer to the start.
-- To be called after `admit_v1`, with every link found.
CREATE FUNCTION deepen_v1(crawl_ bigint, parents bigint[], keys bigint[], depths bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  children bigint[];
  it record;
BEGIN
  children := ARRAY(SELECT (SELECT coalesce(u.alias_of, u.id) FROM url u WHERE u.crawl = crawl_ AND u.key = f.key LIMIT 1)
    FROM unnest(keys) f(key));
  INSERT INTO edge (crawl, parent, child)
    SELECT DISTINCT crawl_, f.parent, f.child FROM unnest(parents, children) f(parent, child)
    WHERE f.parent IS NOT NULL AND f.child IS NOT NULL ON CONFLICT DO NOTHING;
  FOR it IN SELECT f.child AS id, f.depth FROM unnest(parents, children, depths) WITH ORDINALITY f(parent, child, depth, i)
    WHERE f.parent IS NOT NULL AND (SELECT u.depth FROM url u WHERE u.id = f.child) > f.depth ORDER BY f.i
  LOOP
    PERFORM shorten_v1(crawl_, it.id, it.depth);
  END LOOP;
END $$;

-- A path of `depth_` links to a job was found: it is passed on to all that it brings nearer to the start.
CREATE FUNCTION shorten_v1(crawl_ bigint, job_ bigint, depth_ bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  jobs bigint[] := ARRAY[job_];
  depths bigint[] := ARRAY[depth_];
  deepest bigint;
  it record;
BEGIN
  SELECT c.max_depth INTO deepest FROM crawl c WHERE c.id = crawl_;
  WHILE deepest IS NOT NULL AND cardinality(jobs) > 0 LOOP
    job_ := jobs[cardinality(jobs)];
    depth_ := depths[cardinality(depths)];
    jobs := trim_array(jobs, 1);
    depths := trim_array(depths, 1);
    UPDATE url SET depth = depth_ WHERE id = job_ AND depth > depth_;
    CONTINUE WHEN NOT FOUND;
    SELECT e.state, e.other INTO it FROM ended e WHERE e.job = job_;
    CONTINUE WHEN NOT FOUND;
    IF it.state = 2 AND it.other IS NOT NULL THEN
      jobs := jobs || it.other;
      depths := depths || depth_;
    END IF;
    SELECT jobs || coalesce(array_agg(e.child), '{}'), depths || coalesce(array_agg(depth_ + 1), '{}') INTO jobs, depths
      FROM edge e WHERE e.crawl = crawl_ AND e.parent = job_;
    IF depth_ + 1 <= deepest THEN
      PERFORM readmit_v1(crawl_, job_, depth_ + 1);
    END IF;
  END LOOP;
END $$;

-- Links of a page that were cut for depth are within it now.
CREATE FUNCTION readmit_v1(crawl_ bigint, parent_ bigint, depth_ bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  it record;
BEGIN
  WITH gone AS (DELETE FROM cut WHERE crawl = crawl_ AND parent = parent_ RETURNING key, url, host)
    SELECT array_agg(crawl_) AS crawls, array_agg(g.key) AS keys, array_agg(g.url) AS urls, array_agg(h.id) AS hosts,
      array_agg(2::bigint) AS kinds, array_agg(depth_) AS depths, array_agg(1::bigint) AS flags,
      array_agg(parent_) AS parents, array_agg(''::text) AS payloads
    INTO it FROM gone g JOIN host h ON h.name = g.host;
  IF it.crawls IS NOT NULL THEN
    PERFORM admit_v1(false, it.crawls, it.keys, it.urls, it.hosts, it.kinds, it.depths, it.flags, it.parents,
      it.payloads);
    PERFORM deepen_v1(crawl_, it.parents, it.keys, it.depths);
  END IF;
END $$;

-- Links that the discovery depth forbids now: refused, and kept in case a shorter path turns up.
CREATE FUNCTION cut_v1(crawl_ bigint, parents bigint[], keys bigint[], urls text[], hosts text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO cut (crawl, parent, key, url, host)
    SELECT DISTINCT ON (f.parent, f.key) crawl_, f.parent, f.key, f.url, f.host
    FROM unnest(parents, keys, urls, hosts) f(parent, key, url, host) ON CONFLICT DO NOTHING;
  PERFORM refuse_v1(array_agg(crawl_), array_agg(f.key), array_agg(f.parent), array_agg('DISCOVERY_DEPTH'::text),
      array_agg(c.max_depth::text), array_agg((c.max_depth + 1)::text), array_agg(f.url))
    FROM (SELECT DISTINCT ON (s.key) s.* FROM unnest(parents, keys, urls) WITH ORDINALITY s(parent, key, url, i)
          ORDER BY s.key, s.i) f
    JOIN crawl c ON c.id = crawl_;
END $$;

-- Other spellings under keys that are known, in case the one that was taken is gone (404, 410). `firsts` are the
-- spellings to go by where a limit left none.
CREATE FUNCTION variants_v1(crawl_ bigint, keys bigint[], urls text[], hosts text[], firsts text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO variant (crawl, key, url, host)
    SELECT DISTINCT ON (f.key, md5(f.url)) crawl_, f.key, f.url, f.host
    FROM unnest(keys, urls, hosts, firsts) f(key, url, host, first)
    WHERE f.url <> coalesce((SELECT u.url FROM url u WHERE u.crawl = crawl_ AND u.key = f.key), f.first)
    ON CONFLICT (crawl, key, md5(url)) DO NOTHING;
END $$;

-- The spelling tried is gone: another one under the same key goes into line, if there is one.
CREATE FUNCTION try_variant_v1(crawl_ bigint, job_ bigint, key_ bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  it record;
BEGIN
  INSERT INTO variant (crawl, key, url, host, tried)
    SELECT crawl_, key_, u.url, h.name, 1 FROM url u JOIN host h ON h.id = u.host WHERE u.id = job_
    ON CONFLICT (crawl, key, md5(url)) DO UPDATE SET tried = 1;
  SELECT v.url, h.id AS host INTO it FROM variant v JOIN host h ON h.name = v.host
    WHERE v.crawl = crawl_ AND v.key = key_ AND v.tried = 0 ORDER BY v.url COLLATE "C" LIMIT 1;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE url SET url = it.url, hops = '', attempts = 0 WHERE id = job_;
  PERFORM requeue_v1(job_, it.host);
  RETURN true;
END $$;

-- The other job that has, or will have, the page this redirect ended on; NULL when the page is ours: its final key is
-- our own, or belongs to our own duplicate or to a page that could not be had. A final URL nobody knew is marked as
-- visited.
CREATE FUNCTION keeper_v1(crawl_ bigint, job_ bigint, final_key bigint, final_url text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  other_ bigint;
  it record;
BEGIN
  SELECT coalesce(u.alias_of, u.id) INTO other_ FROM url u WHERE u.crawl = crawl_ AND u.key = final_key;
  IF NOT FOUND THEN
    INSERT INTO url (id, crawl, key, kind, depth, flags, parent, alias_of, url)
      SELECT nextval('job_number'), u.crawl, final_key, u.kind, u.depth, 0, u.parent, u.id, final_url
      FROM url u WHERE u.id = job_;
    RETURN NULL;
  END IF;
  FOR hop IN 1 .. 20 LOOP -- duplicates of duplicates
    IF other_ = job_ THEN
      RETURN NULL;
    END IF;
    SELECT e.state, e.other INTO it FROM ended e WHERE e.job = other_;
    IF NOT FOUND OR it.state = 0 THEN
      RETURN other_;
    END IF;
    IF it.other IS NULL THEN
      -- It could not be had under its own URL. Whoever comes by another one is the first, and is noted.
      UPDATE ended SET other = job_ WHERE job = other_;
      RETURN NULL;
    END IF;
    other_ := it.other;
  END LOOP;
  RETURN NULL;
END $$;

-- Everything one run of each of these jobs brings home but its links and what it says of hosts: those follow in the
-- same transaction (`admit_v1`, `refuse_v1`, `settle_v1`). Parallel arrays, one element a job, in finishing order:
--   ends         0 done, 1 failed, 2 refused, 3 again
--   with_doc     1: there is a document (doc_*, bodies)
--   tries, counts  attempts before this one; 1: it counts into the limit, 0 (`uncounts` 1: no more)
--   delays       of `again`; attempted 1: it counts as an attempt; to_hosts: where it goes on
-- One row each: outcome 0 not kept, 1 kept, 2 kept and its links count; its depth, where that may have changed; where
-- its slots were, and its crawl's nature. A job is named once.
CREATE FUNCTION finish_v1(now_ bigint, jobs bigint[], locks bigint[], crawls bigint[], kinds bigint[], keys bigint[],
  ends bigint[], statuses bigint[], codes text[], messages text[], finals text[], final_keys bigint[],
  tries bigint[], counts bigint[], uncounts bigint[], delays bigint[], attempted bigint[], to_hosts bigint[], hops_ bytea[], notes bytea[],
  with_doc bigint[], doc_statuses bigint[], doc_urls text[], doc_titles text[], doc_blobs text[], bodies bytea[])
RETURNS TABLE (outcome bigint, depth bigint, host bigint, team bigint, started_at bigint, crawl_team bigint,
  crawl_kind text, max_depth bigint, keep_variants bigint, erase bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  n CONSTANT bigint := cardinality(jobs);
  held bigint[];
  q_id bigint[];
  q_at tid[];
  queues bigint[];
  host_of bigint[];
  team_of bigint[];
  started bigint[];
  c_team bigint[];
  c_kind text[];
  c_depth bigint[];
  c_variants bigint[];
  c_erase bigint[];
  outcomes bigint[];      -- NULL while it is to be ended
  others bigint[] := array_fill(NULL::bigint, ARRAY[n::int]);
  rare boolean[];
  told bigint[];
  first_ bigint := 1;
  it record;
BEGIN
  PERFORM 1 FROM crawl c WHERE c.id = ANY (crawls) ORDER BY c.id FOR NO KEY UPDATE;
  SELECT array_agg(l.job) FILTER (WHERE l.job IS NOT NULL), array_agg(l.queue), array_agg(l.host), array_agg(l.team),
      array_agg(l.started_at), array_agg(c.team), array_agg(c.kind), array_agg(c.max_depth), array_agg(c.keep_variants),
      array_agg(c.erase), array_agg(CASE WHEN l.job IS NULL OR c.status IS DISTINCT FROM 0 THEN 0::bigint END),
      array_agg(f.ends = 3 OR (f.ends = 0 AND f.final_key <> f.key AND c.kind IN ('crawl', 'map')) IS TRUE
        OR (f.ends = 1 AND c.keep_variants = 1 AND f.code IN ('http_404', 'http_410')) IS TRUE),
      coalesce(array_agg(c.id) FILTER (WHERE c.events & 2 <> 0), '{}')
    INTO held, queues, host_of, team_of, started, c_team, c_kind, c_depth, c_variants, c_erase, outcomes, rare, told
    FROM unnest(jobs, locks, crawls, keys, ends, final_keys, codes) WITH ORDINALITY
      f(job, lock, crawl, key, ends, final_key, code, i)
    LEFT JOIN LATERAL (SELECT x.* FROM lease x WHERE x.job = f.job AND x.lock = f.lock OFFSET 0) l ON true
    LEFT JOIN LATERAL (SELECT x.* FROM crawl x WHERE x.id = f.crawl OFFSET 0) c ON true;
  DELETE FROM lease WHERE job = ANY (held);
  -- Where a row lies is kept from when it was locked: a row that is written at each step has many versions behind it, and
  -- a second search would go through all that an old snapshot keeps.
  SELECT array_agg(q.id), array_agg(q.at) INTO q_id, q_at
    FROM (SELECT q.id, q.ctid AS at FROM queue q WHERE q.crawl = ANY (crawls) ORDER BY q.id FOR NO KEY UPDATE) q;
  -- A crawl's own delay runs from the end of a page to the beginning of the next.
  UPDATE queue q SET active = q.active - f.n, next_at = CASE WHEN q.gap > 0 THEN now_ + q.gap ELSE q.next_at END
    FROM (SELECT a.id, a.at, count(*) AS n FROM unnest(queues) u(queue) JOIN unnest(q_id, q_at) a(id, at)
          ON a.id = u.queue GROUP BY a.id, a.at) f
    WHERE q.ctid = f.at;
  FOR i IN 1 .. n LOOP
    CONTINUE WHEN outcomes[i] = 0;
    IF notes[i] IS NOT NULL THEN
      UPDATE crawl SET note = notes[i] WHERE id = crawls[i];
    END IF;
    IF kinds[i] = 0 THEN
      -- Its delay lies between its start page and the next one too.
      UPDATE queue q SET next_at = now_ + q.gap WHERE q.crawl = crawls[i] AND q.gap > 0;
    END IF;
  END LOOP;
  FOR i IN 1 .. n + 1 LOOP
    CONTINUE WHEN i <= n AND (outcomes[i] = 0 OR NOT rare[i]);
    IF first_ < i THEN
      -- All jobs since the last one that was out of the ordinary end at once.
      WITH ending AS MATERIALIZED (
        SELECT s.i, crawls[s.i] AS crawl, jobs[s.i] AS job, others[s.i] AS other, tries[s.i] AS attempts,
          CASE ends[s.i] WHEN 0 THEN CASE WHEN others[s.i] IS NULL THEN 0 ELSE 2 END WHEN 1 THEN 1 ELSE 3 END AS state,
          CASE WHEN uncounts[s.i] = 1 THEN 0 ELSE counts[s.i] END AS counted,
          CASE WHEN uncounts[s.i] = 1 THEN counts[s.i] ELSE 0 END AS uncounted,
          CASE WHEN with_doc[s.i] = 1 AND others[s.i] IS NULL THEN c.documents + c.superseded
            + count(*) FILTER (WHERE with_doc[s.i] = 1 AND others[s.i] IS NULL) OVER (PARTITION BY c.id ORDER BY s.i)
          END AS seq
        FROM generate_series(first_, i - 1) s(i) JOIN crawl c ON c.id = crawls[s.i]
        WHERE outcomes[s.i] IS NULL
      ), stored AS (
        INSERT INTO document (crawl, seq, job, state, status, url, title, blob, body)
          SELECT e.crawl, e.seq, e.job, e.state, doc_statuses[e.i], doc_urls[e.i], doc_titles[e.i], doc_blobs[e.i],
            bodies[e.i]
          FROM ending e WHERE e.seq IS NOT NULL ORDER BY e.i
      ), over_ AS (
        INSERT INTO ended (job, crawl, state, at, attempts, seq, other, status, code, message, final)
          SELECT e.job, e.crawl, e.state, now_, e.attempts + 1, e.seq, e.other,
            CASE WHEN e.other IS NULL THEN statuses[e.i] END, codes[e.i], messages[e.i], nullif(finals[e.i], '')
          FROM ending e ORDER BY e.i
      ), uncounted AS (
        UPDATE url u SET flags = u.flags & ~1 FROM ending e WHERE u.id = e.job AND e.uncounted = 1
      )
      UPDATE crawl c SET open = c.open - e.n, discovered = c.discovered - e.uncounted, done = c.done + e.done,
          failed = c.failed + e.failed, duplicate = c.duplicate + e.duplicate, denied = c.denied + e.denied,
          documents = c.documents + e.documents
        FROM (SELECT crawl, count(*) AS n, sum(uncounted) AS uncounted,
                count(*) FILTER (WHERE counted = 1 AND state = 0) AS done,
                count(*) FILTER (WHERE counted = 1 AND state = 1) AS failed,
                count(*) FILTER (WHERE counted = 1 AND state = 2) AS duplicate,
                count(*) FILTER (WHERE counted = 1 AND state = 3) AS denied, count(seq) AS documents
              FROM ending GROUP BY crawl) e
        WHERE c.id = e.crawl;
      IF cardinality(told) > 0 THEN
        PERFORM post_v1(now_, p.crawl, 2, p.jobs) FROM (
          SELECT crawls[s.i] AS crawl, array_agg(jobs[s.i] ORDER BY s.i) AS jobs FROM generate_series(first_, i - 1) s(i)
          WHERE outcomes[s.i] IS NULL AND others[s.i] IS NULL AND crawls[s.i] = ANY (told) AND counts[s.i] > uncounts[s.i]
          GROUP BY crawls[s.i] ORDER BY crawls[s.i]) p;
      END IF;
      FOR j IN first_ .. i - 1 LOOP
        IF outcomes[j] IS NULL THEN
          outcomes[j] := CASE WHEN others[j] IS NULL THEN 2 ELSE 1 END;
          IF others[j] IS NOT NULL THEN
            PERFORM shorten_v1(crawls[j], others[j], u.depth) FROM url u WHERE u.id = jobs[j];
          END IF;
        END IF;
      END LOOP;
      first_ := i;
    END IF;
    EXIT WHEN i > n;
    IF ends[i] = 3 THEN
      outcomes[i] := 1;
      UPDATE url SET attempts = attempts + attempted[i], hops = hops_[i],
          seq = CASE WHEN delays[i] > 0 AND to_hosts[i] > 0 THEN NULL ELSE seq END,
          host = CASE WHEN delays[i] > 0 AND to_hosts[i] > 0 THEN to_hosts[i] ELSE host END
        WHERE id = jobs[i];
      IF delays[i] > 0 THEN
        INSERT INTO retry (run_at, job, crawl) VALUES (now_ + delays[i], jobs[i], crawls[i]);
      ELSE
        PERFORM requeue_v1(jobs[i], nullif(to_hosts[i], 0));
      END IF;
    ELSIF ends[i] = 1 THEN
      IF try_variant_v1(crawls[i], jobs[i], keys[i]) THEN
        outcomes[i] := 1;
      END IF;
    ELSE
      others[i] := keeper_v1(crawls[i], jobs[i], final_keys[i], finals[i]);
    END IF;
  END LOOP;
  RETURN QUERY SELECT f.outcome, CASE WHEN f.max_depth IS NOT NULL THEN (SELECT u.depth FROM url u WHERE u.id = f.job) END,
      f.host, f.team, f.started_at, f.crawl_team, f.crawl_kind, f.max_depth, f.keep_variants, f.erase
    FROM unnest(jobs, outcomes, host_of, team_of, started, c_team, c_kind, c_depth, c_variants, c_erase)
      f(job, outcome, host, team, started_at, crawl_team, crawl_kind, max_depth, keep_variants, erase);
END $$;

-- How many the host takes at once, after what is known of it has changed. The caller holds it.
CREATE FUNCTION room_v1(now_ bigint, host_ bigint, settings bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE host SET max_active = CASE WHEN gap > 0 OR shy = 1 THEN 1 WHEN own_max IS NOT NULL THEN own_max
    WHEN private = 1 THEN 1099511627776 ELSE settings[1] END, freed_at = greatest(freed_at, now_) WHERE id = host_;
END $$;

-- What a job learnt about a host; NULL and -1 are nothing. A host that is given up keeps its parked lanes: the next
-- claim finds it by `host_given_up`. The caller holds the host.
CREATE FUNCTION note_host_v1(now_ bigint, host_ bigint, started_at_ bigint, answered bigint, throttled bigint,
  down bigint, retry_after bigint, request_age bigint, gap_ bigint, private_ bigint, settings bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  it record;
  asked bigint;
  pause bigint;
BEGIN
  IF private_ >= 0 THEN
    UPDATE host SET private = private_ WHERE id = host_ AND private <> private_;
  END IF;
  IF gap_ IS NOT NULL THEN
    UPDATE host SET gap = greatest(0, gap_) WHERE id = host_;
  END IF;
  IF private_ >= 0 OR gap_ IS NOT NULL THEN
    PERFORM room_v1(now_, host_, settings);
  END IF;
  IF request_age IS NOT NULL THEN
    UPDATE host SET open_at = greatest(open_at, now_ - greatest(0, request_age) + gap) WHERE id = host_ AND gap > 0;
  END IF;
  IF throttled = 0 AND down = 0 THEN
    IF answered = 1 THEN
      UPDATE host SET backoffs = 0, backoff_since = 0, gave_up_at = 0 WHERE id = host_ AND backoffs > 0;
    END IF;
    RETURN;
  END IF;
  SELECT h.backoffs, h.backoff_since AS since, h.backoff_at AS last, h.open_at INTO it FROM host h WHERE h.id = host_;
  asked := CASE WHEN retry_after > 0 THEN least(retry_after, settings[6]) END;
  IF it.backoffs > 0 AND started_at_ <= it.last THEN
    -- Sent before the last back-off began: the same refusal once more, not a further one.
    UPDATE host SET open_at = now_ + asked WHERE id = host_ AND now_ + asked > open_at;
    RETURN;
  END IF;
  it.backoffs := it.backoffs + 1;
  IF it.since = 0 THEN
    it.since := now_;
  END IF;
  pause := coalesce(asked, least(1000000 * (1::bigint << least(it.backoffs - 1, 20)::int), settings[6]));
  -- Spread over hosts and time, and the same when the same happens again: no test depends on luck.
  pause := pause + ((host_::numeric * 2654435761 + now_) % (pause / 4 + 1))::bigint;
  UPDATE host SET backoffs = it.backoffs, backoff_since = it.since, backoff_at = now_,
      open_at = greatest(open_at, now_ + pause)
    WHERE id = host_;
  IF it.backoffs >= settings[4] OR now_ - it.since >= settings[5] THEN
    UPDATE host SET gave_up_at = now_, gave_up_code = CASE WHEN throttled = 1 THEN 'rate_limited' ELSE 'host_down' END
      WHERE id = host_;
  END IF;
END $$;

-- The end of a step's finishing, and of everything else that gave jobs back or brought some: crawls without open jobs
-- are completed, and named; slots return to hosts and teams (one element each slot); `met`: hosts of which a job has told what it
-- knows; notes: parallel arrays in order. The caller holds the crawls and their queues.
CREATE FUNCTION settle_v1(now_ bigint, settings bigint[], crawls bigint[], hosts bigint[], teams bigint[],
  met bigint[] DEFAULT '{}', note_hosts bigint[] DEFAULT '{}', note_started bigint[] DEFAULT '{}',
  note_answered bigint[] DEFAULT '{}', note_throttled bigint[] DEFAULT '{}', note_down bigint[] DEFAULT '{}',
  note_retry bigint[] DEFAULT '{}', note_age bigint[] DEFAULT '{}', note_gap bigint[] DEFAULT '{}',
  note_private bigint[] DEFAULT '{}') RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  it bigint;
  ids bigint[];
  ats tid[];
  completed bigint[] := complete_v1(now_, crawls);
BEGIN
  SELECT array_agg(h.id), array_agg(h.at) INTO ids, ats FROM (
    SELECT h.id, h.ctid AS at FROM host h WHERE h.id = ANY (hosts || met || note_hosts) ORDER BY h.id FOR NO KEY UPDATE
  ) h;
  UPDATE host h SET active = h.active - f.n, freed_at = greatest(h.freed_at, now_)
    FROM (SELECT a.id, a.at, count(*) AS n FROM unnest(hosts) u(id) JOIN unnest(ids, ats) a(id, at) ON a.id = u.id
          GROUP BY a.id, a.at) f
    WHERE h.ctid = f.at;
  FOR i IN 1 .. cardinality(note_hosts) LOOP
    PERFORM note_host_v1(now_, note_hosts[i], note_started[i], note_answered[i], note_throttled[i], note_down[i],
      note_retry[i], note_age[i], note_gap[i], note_private[i], settings);
  END LOOP;
  IF cardinality(met) > 0 THEN
    FOR it IN SELECT h.id FROM host h WHERE h.id = ANY (met) AND h.shy = 1 LOOP
      UPDATE host SET shy = 0 WHERE id = it;
      PERFORM room_v1(now_, it, settings);
    END LOOP;
  END IF;
  SELECT array_agg(t.id), array_agg(t.at) INTO ids, ats
    FROM (SELECT t.id, t.ctid AS at FROM team t WHERE t.id = ANY (teams) ORDER BY t.id FOR NO KEY UPDATE) t;
  UPDATE team t SET active = t.active - f.n
    FROM (SELECT a.id, a.at, count(*) AS n FROM unnest(teams) u(id) JOIN unnest(ids, ats) a(id, at) ON a.id = u.id
          GROUP BY a.id, a.at) f
    WHERE t.ctid = f.at;
  RETURN completed;
END $$;

-- Pages that came home are counted, one element of `pages` (its team) each; what carries a site enters its team's index.
-- The last thing that waits for anybody.
CREATE FUNCTION credit_v1(now_ bigint, pages bigint[], teams bigint[], sites text[], urls text[], titles text[], descriptions text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage AS u (team, period, pages, last_at)
    SELECT t.id, to_char(to_timestamp(now_ / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM'), count(*), now_
    FROM unnest(pages) t(id) GROUP BY t.id ORDER BY t.id
    ON CONFLICT (team, period) DO UPDATE SET pages = u.pages + excluded.pages,
      last_at = greatest(u.last_at, excluded.last_at);
  IF cardinality(sites) > 0 THEN
    INSERT INTO known_url (team, site, url, title, description, seen_at)
      SELECT DISTINCT ON (f.team, f.site, md5(f.url)) f.team, f.site, f.url, f.title, f.description, now_
      FROM unnest(teams, sites, urls, titles, descriptions) WITH ORDINALITY f(team, site, url, title, description, i)
      ORDER BY f.team, f.site, md5(f.url), f.i DESC
      ON CONFLICT (team, site, md5(url)) DO UPDATE SET title = excluded.title, description = excluded.description,
        seen_at = excluded.seen_at;
  END IF;
END $$;

-- A new crawl names these hosts: what was given up, or backed off from long ago, gets a fresh start.
CREATE FUNCTION trust_v1(now_ bigint, hosts bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM host h WHERE h.id = ANY (hosts) ORDER BY h.id FOR NO KEY UPDATE;
  UPDATE host SET gave_up_at = 0, backoffs = 0, backoff_since = 0
    WHERE id = ANY (hosts) AND (gave_up_at > 0 OR (backoffs > 0 AND open_at <= now_));
END $$;
