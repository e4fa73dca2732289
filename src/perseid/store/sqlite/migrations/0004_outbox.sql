-- What leaves by itself, and what a team remembers.

CREATE TABLE outbox (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  crawl      INTEGER NOT NULL,
  kind       INTEGER NOT NULL,              -- model.terms.EventKind
  job        INTEGER,                       -- of a page
  uid        TEXT    NOT NULL,
  attempts   INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  due_at     INTEGER NOT NULL,              -- taken: when the lease is over; a last event: never, while others are left
  lock       INTEGER NOT NULL DEFAULT 0     -- of whoever has taken it
);
CREATE INDEX outbox_due ON outbox (crawl, due_at, id);

-- One per crawl with events: who looks for work reads this only, however many events wait behind it.
CREATE TABLE outbox_lane (
  crawl      INTEGER PRIMARY KEY,
  next_at    INTEGER NOT NULL,              -- when to look at it: something is due, and it is neither held nor taken
  held_until INTEGER NOT NULL DEFAULT 0,    -- its receiver is away
  lock       INTEGER NOT NULL DEFAULT 0,    -- events are taken, under this lock
  busy       INTEGER NOT NULL DEFAULT 0     -- so many of them
);
CREATE INDEX outbox_lane_next ON outbox_lane (next_at);

-- The log of deliveries.
CREATE TABLE delivery (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  crawl   INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  uid     TEXT    NOT NULL,
  kind    INTEGER NOT NULL,
  url     TEXT    NOT NULL,
  attempt INTEGER NOT NULL,
  status  INTEGER,
  error   TEXT    NOT NULL,
  elapsed INTEGER NOT NULL,
  final   INTEGER NOT NULL
);
CREATE INDEX delivery_crawl ON delivery (crawl, id);
CREATE INDEX delivery_oldest ON delivery (at);

-- The index of URLs a team has seen, by site (registrable domain).
CREATE TABLE known_url (
  team        INTEGER NOT NULL,
  site        TEXT    NOT NULL,
  url         TEXT    NOT NULL,
  title       TEXT,
  description TEXT,
  seen_at     INTEGER NOT NULL,
  PRIMARY KEY (team, site, url)
) WITHOUT ROWID;
CREATE INDEX known_url_newest ON known_url (team, site, seen_at);
CREATE INDEX known_url_oldest ON known_url (seen_at);

-- Versions of pages to compare with.
CREATE TABLE snapshot (
  team     INTEGER NOT NULL,
  url      TEXT    NOT NULL,
  tag      TEXT    NOT NULL,
  taken_at INTEGER NOT NULL,
  body     BLOB    NOT NULL,
  PRIMARY KEY (team, url, tag)
) WITHOUT ROWID;
CREATE INDEX snapshot_oldest ON snapshot (taken_at);

-- Crawls under zero retention, from their end until nothing of them is left.
CREATE TABLE erasure (
  crawl  INTEGER PRIMARY KEY,
  due_at INTEGER NOT NULL
);
CREATE INDEX erasure_due ON erasure (due_at);
