-- All instants and durations are integer microseconds, UTC. No column holds a job's status:
-- what a job is doing follows from where its rows are (see ARCHITECTURE.md, "The truth").

-- One row: counters that every step may move.
CREATE TABLE gate (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  next_job    INTEGER NOT NULL,
  turn        INTEGER NOT NULL,            -- virtual time of weighted fair queueing
  global_open INTEGER NOT NULL             -- token bucket over all public hosts (GCRA)
);
INSERT INTO gate VALUES (1, 1, 0, 0);

CREATE TABLE team (
  id         INTEGER PRIMARY KEY,
  active     INTEGER NOT NULL DEFAULT 0,
  max_active INTEGER NOT NULL,
  waiting    INTEGER NOT NULL DEFAULT 0    -- queues parked because the team is full
);
CREATE INDEX team_wakeable ON team (id) WHERE waiting > 0 AND active < max_active;

CREATE TABLE crawl (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  uid            TEXT    NOT NULL UNIQUE,
  team           INTEGER NOT NULL,
  kind           TEXT    NOT NULL,
  url            TEXT    NOT NULL,
  key_seed       INTEGER NOT NULL,
  status         INTEGER NOT NULL DEFAULT 0,
  error          TEXT,
  max_pages      INTEGER,
  max_depth      INTEGER,                  -- discovery depth
  keep_variants  INTEGER NOT NULL,
  max_denied     INTEGER NOT NULL,
  max_sitemaps   INTEGER NOT NULL,
  open           INTEGER NOT NULL DEFAULT 0,
  discovered     INTEGER NOT NULL DEFAULT 0,
  done           INTEGER NOT NULL DEFAULT 0,
  failed         INTEGER NOT NULL DEFAULT 0,
  duplicate      INTEGER NOT NULL DEFAULT 0,
  denied         INTEGER NOT NULL DEFAULT 0,
  documents      INTEGER NOT NULL DEFAULT 0,
  refused        INTEGER NOT NULL DEFAULT 0,
  refused_beyond INTEGER NOT NULL DEFAULT 0,
  sitemap_files  INTEGER NOT NULL DEFAULT 0,
  sitemap_urls   INTEGER NOT NULL DEFAULT 0,
  created_at     INTEGER NOT NULL,
  ended_at       INTEGER,
  ttl            INTEGER,
  deadline_at    INTEGER,
  swept          INTEGER NOT NULL DEFAULT 0,
  note           BLOB    NOT NULL DEFAULT x'',
  options        BLOB    NOT NULL
);
CREATE INDEX crawl_newest ON crawl (created_at);
CREATE INDEX crawl_deadline ON crawl (deadline_at) WHERE status = 0 AND deadline_at IS NOT NULL;
CREATE INDEX crawl_unswept ON crawl (id) WHERE status <> 0 AND swept = 0;

-- One per (crawl, class of work).
CREATE TABLE queue (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  crawl      INTEGER NOT NULL,
  class      INTEGER NOT NULL,
  team       INTEGER NOT NULL,
  active     INTEGER NOT NULL DEFAULT 0,
  max_active INTEGER NOT NULL,
  gap        INTEGER NOT NULL DEFAULT 0,   -- the crawl's own delay between pages
  next_at    INTEGER NOT NULL DEFAULT 0,
  turn       INTEGER NOT NULL,
  ready      INTEGER NOT NULL DEFAULT 0,   -- lanes in state 1
  parked     INTEGER NOT NULL DEFAULT 0,   -- the team is full
  closed     INTEGER NOT NULL DEFAULT 0,   -- the crawl has ended
  UNIQUE (crawl, class)
);
CREATE INDEX queue_claimable ON queue (turn) WHERE ready > 0 AND parked = 0 AND closed = 0 AND active < max_active;
CREATE INDEX queue_parked ON queue (team, turn) WHERE parked = 1;

-- Politeness, and the only place of it; www and apex share a row.
CREATE TABLE host (
  id            INTEGER PRIMARY KEY,
  name          TEXT    NOT NULL UNIQUE,
  active        INTEGER NOT NULL DEFAULT 0,
  max_active    INTEGER NOT NULL,          -- in force: 1 with a gap, no limit for private hosts
  shy           INTEGER NOT NULL DEFAULT 0,-- a crawl's first host: one at a time until it has answered once
  private       INTEGER NOT NULL DEFAULT 0,-- loopback or private address: not throttled
  interval      INTEGER NOT NULL,          -- mean time between requests, 0 = unlimited
  burst         INTEGER NOT NULL,
  gap           INTEGER NOT NULL DEFAULT 0,-- crawl-delay: one at a time, this long after the last request
  open_at       INTEGER NOT NULL DEFAULT 0,-- not claimed before
  backoffs      INTEGER NOT NULL DEFAULT 0,-- in a row
  backoff_since INTEGER NOT NULL DEFAULT 0,
  backoff_at    INTEGER NOT NULL DEFAULT 0,
  gave_up_at    INTEGER NOT NULL DEFAULT 0,
  gave_up_code  TEXT,
  waiting       INTEGER NOT NULL DEFAULT 0 -- lanes parked here (state 2)
);
CREATE INDEX host_wakeable ON host (open_at) WHERE waiting > 0 AND active < max_active;
CREATE INDEX host_active ON host (active) WHERE active > 0;

-- One per (queue, host). Positions 1..head were claimed, head+1..tail wait.
CREATE TABLE lane (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  queue     INTEGER NOT NULL,
  host      INTEGER NOT NULL,
  head      INTEGER NOT NULL DEFAULT 0,
  tail      INTEGER NOT NULL DEFAULT 0,
  ord       INTEGER NOT NULL DEFAULT 0,    -- job at the head: keeps a crawl breadth-first over its hosts
  state     INTEGER NOT NULL DEFAULT 0,    -- 0 empty, 1 ready, 2 parked at the host, 3 given up
  parked_at INTEGER NOT NULL DEFAULT 0,
  UNIQUE (queue, host)
);
CREATE INDEX lane_ready ON lane (queue, ord) WHERE state = 1;
CREATE INDEX lane_parked ON lane (host, parked_at) WHERE state = 2;
CREATE INDEX lane_given_up ON lane (id) WHERE state = 3;

-- Every admitted URL once: (crawl, key) is the visited set, (lane, seq) the queue.
CREATE TABLE url (
  id       INTEGER PRIMARY KEY,            -- the job; from gate.next_job, grows in order of discovery
  crawl    INTEGER NOT NULL,
  key      INTEGER NOT NULL,
  lane     INTEGER,
  seq      INTEGER,                        -- NULL for an alias: the final URL of a redirect
  kind     INTEGER NOT NULL,
  depth    INTEGER NOT NULL,
  flags    INTEGER NOT NULL,               -- 1 counted, 2 named by a sitemap
  parent   INTEGER,
  alias_of INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  stalls   INTEGER NOT NULL DEFAULT 0,
  url      TEXT    NOT NULL,
  payload  TEXT    NOT NULL DEFAULT '',
  hops     BLOB    NOT NULL DEFAULT x''
);
CREATE UNIQUE INDEX url_key ON url (crawl, key);
CREATE UNIQUE INDEX url_waiting ON url (lane, seq) WHERE seq IS NOT NULL;

-- Other spellings under the same key, tried when the first answers 404 or 410.
CREATE TABLE variant (
  crawl INTEGER NOT NULL,
  key   INTEGER NOT NULL,
  url   TEXT    NOT NULL,
  host  TEXT    NOT NULL,
  tried INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (crawl, key, url)
) WITHOUT ROWID;

-- Only for crawls with a maximum discovery depth: who links to whom, and links cut for depth,
-- so that a shorter path found later reaches what it should.
CREATE TABLE edge (
  crawl  INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  child  INTEGER NOT NULL,
  PRIMARY KEY (crawl, parent, child)
) WITHOUT ROWID;
CREATE TABLE cut (
  crawl  INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  key    INTEGER NOT NULL,
  url    TEXT    NOT NULL,
  host   TEXT    NOT NULL,
  PRIMARY KEY (crawl, parent, key)
) WITHOUT ROWID;

CREATE TABLE lease (
  job        INTEGER PRIMARY KEY,
  crawl      INTEGER NOT NULL,
  lock       INTEGER NOT NULL,
  worker     INTEGER NOT NULL,
  queue      INTEGER NOT NULL,
  lane       INTEGER NOT NULL,
  host       INTEGER NOT NULL,
  team       INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
);

CREATE TABLE retry (
  run_at INTEGER NOT NULL,
  job    INTEGER NOT NULL,
  crawl  INTEGER NOT NULL,
  PRIMARY KEY (run_at, job)
) WITHOUT ROWID;
CREATE INDEX retry_crawl ON retry (crawl);

-- A job's end; the primary key is what makes it happen once.
CREATE TABLE ended (
  job      INTEGER PRIMARY KEY,
  crawl    INTEGER NOT NULL,
  state    INTEGER NOT NULL,               -- model.job.EndState
  at       INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  seq      INTEGER,                        -- its document
  other    INTEGER,                        -- the job it is a duplicate of
  status   INTEGER,
  code     TEXT,
  message  TEXT,
  final    TEXT                            -- final URL where it differs
);
CREATE INDEX ended_other_than_done ON ended (crawl, job) WHERE state <> 0;

CREATE TABLE document (
  id     INTEGER PRIMARY KEY,
  crawl  INTEGER NOT NULL,
  seq    INTEGER NOT NULL,                 -- dense from 1, in finishing order
  job    INTEGER NOT NULL,
  state  INTEGER NOT NULL,
  status INTEGER NOT NULL,
  url    TEXT    NOT NULL,
  title  TEXT,
  blob   TEXT,
  body   BLOB    NOT NULL
);
CREATE UNIQUE INDEX document_seq ON document (crawl, seq);

-- The ledger of refused links.
CREATE TABLE denied (
  id     INTEGER PRIMARY KEY,
  crawl  INTEGER NOT NULL,
  key    INTEGER NOT NULL,
  parent INTEGER,
  reason TEXT    NOT NULL,
  rule   TEXT    NOT NULL,
  value  TEXT    NOT NULL,
  url    TEXT    NOT NULL
);
CREATE UNIQUE INDEX denied_key ON denied (crawl, key);
CREATE INDEX denied_listing ON denied (crawl); -- with the rowid behind it: pages of a listing in order
CREATE TABLE denied_count (
  crawl  INTEGER NOT NULL,
  reason TEXT    NOT NULL,
  n      INTEGER NOT NULL,
  PRIMARY KEY (crawl, reason)
) WITHOUT ROWID;

CREATE TABLE worker (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  host        TEXT    NOT NULL,
  pid         INTEGER NOT NULL,
  pid_started INTEGER NOT NULL,
  beat        INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE robots (
  origin     TEXT PRIMARY KEY,
  fetched_at INTEGER NOT NULL,
  status     INTEGER NOT NULL,
  body       BLOB    NOT NULL
) WITHOUT ROWID;
