-- What is read page by page needs its own order; and bodies too large for a row of `document`.

-- Pages of a crawl in order of discovery. The condition holds for every row, and only listings name it: so no look for a
-- single key is ever planned along this index.
CREATE INDEX url_of_crawl ON url (crawl, id) WHERE flags >= 0;

-- Written before the commit that names them, so that deleting a crawl's at its expiry takes orphans along.
CREATE TABLE blob (
  crawl   bigint NOT NULL,
  name    text   NOT NULL,
  part    bigint NOT NULL,                           -- from 0
  parts   bigint NOT NULL,                           -- so many has the whole
  version bigint NOT NULL,                           -- random: parts of two writings don't mix
  body    bytea  NOT NULL,                           -- compressed already
  PRIMARY KEY (crawl, name, part)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.2);
ALTER TABLE blob ALTER COLUMN body SET STORAGE EXTERNAL;
