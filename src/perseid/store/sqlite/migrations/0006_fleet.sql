-- What a fleet knows of its workers, and whether this database is still the truth.

ALTER TABLE worker ADD COLUMN slots   INTEGER NOT NULL DEFAULT 0;  -- jobs at once; 0: only what its own callers wait for
ALTER TABLE worker ADD COLUMN version TEXT    NOT NULL DEFAULT '';
ALTER TABLE worker ADD COLUMN kinds   INTEGER NOT NULL DEFAULT 7;  -- one bit for each JobKind it knows
ALTER TABLE worker ADD COLUMN drain   INTEGER NOT NULL DEFAULT 0;  -- ports.store.Drain

-- At most one row: a copy into this database is under way, or all that is here was copied elsewhere.
CREATE TABLE relocation (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  arrived INTEGER NOT NULL,                -- 1: this one is being filled, 0: this one was left
  other   TEXT    NOT NULL,
  at      INTEGER NOT NULL
);
