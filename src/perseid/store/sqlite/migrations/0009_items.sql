-- What pages of sites gave, and its way to the sinks.

-- A page of a site as it was read last. `body` is there where it was kept, of the fetch at `fetched_at`.
CREATE TABLE site_page (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  site         INTEGER NOT NULL,
  url          TEXT    NOT NULL,             -- of its task
  fetched_at   INTEGER NOT NULL,
  rule_version INTEGER NOT NULL,             -- it was read by
  task         INTEGER NOT NULL,
  seed         TEXT    NOT NULL,
  final_url    TEXT    NOT NULL DEFAULT '',
  status       INTEGER NOT NULL DEFAULT 0,
  kind         TEXT    NOT NULL DEFAULT '',
  list_page    INTEGER NOT NULL DEFAULT 1,
  headers      BLOB    NOT NULL DEFAULT x'',
  body         BLOB,
  UNIQUE (site, url)
);
CREATE INDEX site_page_kept ON site_page (site, id) WHERE body IS NOT NULL;
CREATE INDEX site_page_oldest ON site_page (fetched_at);

CREATE TABLE item (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  team         INTEGER NOT NULL,
  site         INTEGER NOT NULL,
  key          TEXT    NOT NULL,
  change       INTEGER NOT NULL,             -- drawn anew whenever anything of the row is written
  fetched_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,             -- its fields became what they are
  rule_version INTEGER NOT NULL,
  task         INTEGER NOT NULL,
  seed         TEXT    NOT NULL,
  url          TEXT    NOT NULL,
  fields       BLOB    NOT NULL,
  UNIQUE (site, key)
);
CREATE INDEX item_of_team ON item (team, change);
CREATE INDEX item_of_site ON item (site, change);
CREATE INDEX item_of_seed ON item (seed, change);
CREATE INDEX item_of_task ON item (task);

-- One row: the last number given to a change.
CREATE TABLE item_change (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  last INTEGER NOT NULL
);
INSERT INTO item_change VALUES (1, 0);

-- Items that must not go to the sinks, with the page they stand on.
CREATE TABLE broken_item (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  team         INTEGER NOT NULL,
  site         INTEGER NOT NULL,
  page         INTEGER NOT NULL,
  rule_version INTEGER NOT NULL,
  reason       TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  key          TEXT    NOT NULL,
  task         INTEGER NOT NULL,
  seed         TEXT    NOT NULL,
  url          TEXT    NOT NULL,
  fields       BLOB    NOT NULL,
  problems     BLOB    NOT NULL
);
CREATE INDEX broken_item_group ON broken_item (team, site, rule_version, reason, page);
CREATE INDEX broken_item_page ON broken_item (page);
CREATE INDEX broken_item_task ON broken_item (task);

-- Where items go. A sink whose items are taken has a lock until `busy_until`; one that failed is held.
CREATE TABLE sink (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  team       INTEGER NOT NULL,
  name       TEXT    NOT NULL,
  lock       INTEGER NOT NULL DEFAULT 0,
  worker     INTEGER NOT NULL DEFAULT 0,     -- who has it: free again when that one is reaped
  busy_until INTEGER NOT NULL DEFAULT 0,
  held_until INTEGER NOT NULL DEFAULT 0,
  taken_at   INTEGER NOT NULL DEFAULT 0,
  attempts   INTEGER NOT NULL DEFAULT 0,
  settled    INTEGER NOT NULL DEFAULT 0,     -- batches
  position   BLOB    NOT NULL DEFAULT x'',   -- what the last of them left
  error      TEXT    NOT NULL DEFAULT '',
  UNIQUE (team, name)
);

-- The line of each sink. `change` is that of the item when it got in line, or later.
CREATE TABLE sink_line (
  sink   INTEGER NOT NULL,
  item   INTEGER NOT NULL,
  change INTEGER NOT NULL,
  PRIMARY KEY (sink, item)
) WITHOUT ROWID;
CREATE INDEX sink_line_order ON sink_line (sink, change);

-- Of the items on a site's pages, by the minute that they were fetched in.
CREATE TABLE field_minute (
  site         INTEGER NOT NULL,
  minute       INTEGER NOT NULL,             -- since the epoch
  rule_version INTEGER NOT NULL,
  field        TEXT    NOT NULL,
  n            INTEGER NOT NULL,
  empty        INTEGER NOT NULL,
  PRIMARY KEY (site, minute, rule_version, field)
) WITHOUT ROWID;
CREATE INDEX field_minute_oldest ON field_minute (minute);

-- Of a run of a seed: what its tasks gave, and how long they took (`store.latency`).
CREATE TABLE run_count (
  crawl      INTEGER PRIMARY KEY,
  empty      INTEGER NOT NULL,
  items      INTEGER NOT NULL,
  exceptions INTEGER NOT NULL
);
CREATE TABLE run_time (
  crawl  INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  PRIMARY KEY (crawl, bucket)
) WITHOUT ROWID;

CREATE TABLE alarm (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  team         INTEGER NOT NULL,
  site         INTEGER NOT NULL,
  rule_version INTEGER NOT NULL,
  field        TEXT    NOT NULL,
  rate         INTEGER NOT NULL,             -- in millionths
  n            INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  cleared_at   INTEGER,
  paused       INTEGER NOT NULL,
  tell_at      INTEGER                      -- when to tell that it was raised or cleared; NULL: it was
);
CREATE INDEX alarm_untold ON alarm (tell_at) WHERE tell_at IS NOT NULL;
CREATE UNIQUE INDEX alarm_open ON alarm (site, rule_version, field) WHERE cleared_at IS NULL;
CREATE INDEX alarm_of_team ON alarm (team, id);
