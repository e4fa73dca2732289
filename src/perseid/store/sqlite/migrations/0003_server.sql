-- What a server needs: teams with limits, keys and use; terms of crawls; jobs that are retried or cancelled by hand.

ALTER TABLE team ADD COLUMN name  TEXT    NOT NULL DEFAULT '';
ALTER TABLE team ADD COLUMN rpm   INTEGER;                     -- requests a minute; NULL is no limit
ALTER TABLE team ADD COLUMN quota INTEGER;                     -- pages a calendar month
ALTER TABLE team ADD COLUMN turn  INTEGER NOT NULL DEFAULT 0;  -- among the teams
ALTER TABLE team ADD COLUMN clock INTEGER NOT NULL DEFAULT 0;  -- virtual time among the team's own queues
ALTER TABLE team ADD COLUMN ready INTEGER NOT NULL DEFAULT 1;  -- 0: it surely has no queue to claim from
UPDATE team SET name = 'team ' || id, turn = (SELECT turn FROM gate), clock = (SELECT turn FROM gate);
INSERT INTO team (id, name, max_active) VALUES (1, 'default', 1099511627776)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name;
DROP INDEX team_wakeable;
ALTER TABLE team DROP COLUMN waiting;
CREATE INDEX team_claimable ON team (turn) WHERE ready = 1 AND active < max_active;
CREATE UNIQUE INDEX team_name ON team (name) WHERE name <> '';

CREATE TABLE api_key (
  id         INTEGER PRIMARY KEY,
  team       INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  hint       TEXT    NOT NULL,             -- its beginning, for people
  digest     BLOB    NOT NULL UNIQUE,      -- SHA-256
  created_at INTEGER NOT NULL,
  revoked_at INTEGER,
  used_at    INTEGER
);

CREATE TABLE usage (
  team    INTEGER NOT NULL,
  period  TEXT    NOT NULL,                -- calendar month, UTC: 2026-11
  pages   INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (team, period)
) WITHOUT ROWID;

-- Keys that crawls were started under; they go with their crawl.
CREATE TABLE idempotency (
  team  INTEGER NOT NULL,
  key   TEXT    NOT NULL,
  crawl INTEGER NOT NULL,
  PRIMARY KEY (team, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_crawl ON idempotency (crawl);

ALTER TABLE crawl ADD COLUMN terms      BLOB    NOT NULL DEFAULT x'';
ALTER TABLE crawl ADD COLUMN events     INTEGER NOT NULL DEFAULT 0;  -- EventKinds that somebody wants to be told
ALTER TABLE crawl ADD COLUMN erase      INTEGER NOT NULL DEFAULT 0;  -- zero retention
ALTER TABLE crawl ADD COLUMN erased_at  INTEGER;
ALTER TABLE crawl ADD COLUMN cancelled  INTEGER NOT NULL DEFAULT 0;  -- pages, one by one
ALTER TABLE crawl ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;  -- documents of attempts that were retried
ALTER TABLE crawl ADD COLUMN max_active INTEGER;                     -- what its queue of pages begins with
ALTER TABLE crawl ADD COLUMN gap        INTEGER NOT NULL DEFAULT 0;
ALTER TABLE crawl ADD COLUMN deadline   INTEGER;                     -- how long after it begins, or goes on
UPDATE crawl SET deadline = deadline_at - created_at;
UPDATE crawl SET gap = q.gap, max_active = CASE WHEN q.gap = 0 AND q.max_active < 1099511627776 THEN q.max_active END
  FROM queue q WHERE q.crawl = crawl.id AND q.class = 2;

-- A queue takes its turn among those of its team; a full team is simply not there.
DROP INDEX queue_parked;
DROP INDEX queue_claimable;
ALTER TABLE queue DROP COLUMN parked;
CREATE INDEX queue_claimable ON queue (team, turn, next_at) WHERE ready > 0 AND closed = 0 AND active < max_active;

-- Scrapes are many: they are kept out of the listings of the others.
DROP INDEX crawl_newest;
CREATE INDEX crawl_newest  ON crawl (created_at, status) WHERE kind <> 'scrape';
CREATE INDEX crawl_of_team ON crawl (team, created_at, status) WHERE kind <> 'scrape';
CREATE INDEX crawl_scrapes ON crawl (team, created_at) WHERE kind = 'scrape';
CREATE INDEX crawl_running ON crawl (team, kind) WHERE status = 0;
CREATE INDEX crawl_expiry  ON crawl (ended_at + ttl) WHERE ended_at IS NOT NULL AND ttl IS NOT NULL;
CREATE INDEX crawl_going   ON crawl (id) WHERE swept = 2;            -- being pruned: nobody sees it any more

ALTER TABLE url ADD COLUMN host INTEGER;
UPDATE url SET host = (SELECT l.host FROM lane l WHERE l.id = url.lane) WHERE lane IS NOT NULL;

ALTER TABLE document ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0; -- its job was retried: its number stays taken

-- What the operator says of a host goes before the settings.
ALTER TABLE host ADD COLUMN paused_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE host ADD COLUMN own_max      INTEGER;
ALTER TABLE host ADD COLUMN own_interval INTEGER;
DROP INDEX host_active;
CREATE INDEX host_paused ON host (paused_until) WHERE paused_until > 0;
CREATE INDEX host_backed_off ON host (id) WHERE backoffs > 0;
