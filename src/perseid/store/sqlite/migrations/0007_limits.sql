-- Slots that are handed out beside the database, and rates of callers.

-- So many slots of one host or one team; they count in its `active` like leases.
CREATE TABLE block (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  host       INTEGER,
  team       INTEGER,
  size       INTEGER NOT NULL,
  worker     INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
);

-- A bucket of which nothing was taken lately has no row: it is full.
CREATE TABLE bucket (
  key     TEXT PRIMARY KEY,
  full_at INTEGER NOT NULL
) WITHOUT ROWID;
