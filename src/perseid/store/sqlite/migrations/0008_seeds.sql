-- What is published, the sites and seeds of teams, and what was collected of them.

ALTER TABLE crawl ADD COLUMN paused   INTEGER NOT NULL DEFAULT 0;  -- nothing of it is claimed: `closed` of its queues is 2
ALTER TABLE crawl ADD COLUMN seed     INTEGER;                     -- whose run it is
ALTER TABLE crawl ADD COLUMN priority INTEGER NOT NULL DEFAULT 5;  -- 0 to 9: its share among those of its team
ALTER TABLE queue ADD COLUMN stride   INTEGER NOT NULL DEFAULT 840;  -- virtual time that a claim takes
UPDATE queue SET stride = CASE class WHEN 0 THEN 105 WHEN 1 THEN 210 ELSE 840 END;
CREATE INDEX crawl_of_seed      ON crawl (seed, id) WHERE seed IS NOT NULL;
CREATE INDEX crawl_running_seed ON crawl (seed) WHERE seed IS NOT NULL AND status = 0;

-- A published object: `head` is the version in use, 0 once it was retired.
CREATE TABLE config (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  team    INTEGER NOT NULL,
  kind    TEXT    NOT NULL,                -- ports.configs.ConfigKind
  name    TEXT    NOT NULL,
  head    INTEGER NOT NULL,
  changed INTEGER NOT NULL,                -- grows over all objects with each change of a head
  UNIQUE (team, kind, name)
);
CREATE UNIQUE INDEX config_changed ON config (changed);

CREATE TABLE config_version (
  config   INTEGER NOT NULL,
  version  INTEGER NOT NULL,               -- dense from 1
  body     BLOB    NOT NULL,               -- JSON
  author   TEXT    NOT NULL,
  message  TEXT    NOT NULL,
  restores INTEGER,
  at       INTEGER NOT NULL,
  PRIMARY KEY (config, version)
) WITHOUT ROWID;

CREATE TABLE site (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  team      INTEGER NOT NULL,
  name      TEXT    NOT NULL,
  paused    INTEGER NOT NULL DEFAULT 0,
  reason    TEXT    NOT NULL DEFAULT '',
  paused_at INTEGER,
  UNIQUE (team, name)
);

CREATE TABLE seed (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  team       INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  site       INTEGER NOT NULL,
  spec       BLOB    NOT NULL,             -- JSON of model.seed.Seed
  state      INTEGER NOT NULL DEFAULT 0,   -- ports.seeds.SeedState
  priority   INTEGER NOT NULL,
  next_at    INTEGER,                      -- when it is due
  run        INTEGER,                      -- its newest; it may have been pruned
  runs       INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  edition    INTEGER NOT NULL DEFAULT 1,   -- grows with each change of the row
  UNIQUE (team, name)
);
CREATE INDEX seed_of_site ON seed (site, name);
CREATE INDEX seed_due     ON seed (next_at) WHERE state = 0 AND next_at IS NOT NULL;

-- Pages that were collected, once each; they outlive seeds and runs. Written in the transaction that ends a page's task:
--   INSERT INTO collected (site, key, at) VALUES (site's id, SHA-256 of the normalised URL, now in µs)
--   ON CONFLICT (site, key) DO UPDATE SET at = max(at, excluded.at)
-- `id` stays that of the first time: Bloom filters are rebuilt in its order.
CREATE TABLE collected (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  site INTEGER NOT NULL,
  key  BLOB    NOT NULL,
  at   INTEGER NOT NULL
);
CREATE UNIQUE INDEX collected_key ON collected (site, key);
CREATE INDEX collected_order ON collected (site, id);
