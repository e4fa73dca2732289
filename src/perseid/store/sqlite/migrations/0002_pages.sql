-- Bodies of pages with the validators they came with, for crawls that ask to revalidate.
CREATE TABLE page_cache (
  key           BLOB    PRIMARY KEY,       -- digest of the request
  url           TEXT    NOT NULL,
  etag          TEXT,
  last_modified TEXT,
  headers       BLOB    NOT NULL,          -- JSON
  body          BLOB    NOT NULL,          -- compressed
  put_at        INTEGER NOT NULL
);
CREATE INDEX page_cache_oldest ON page_cache (put_at);
