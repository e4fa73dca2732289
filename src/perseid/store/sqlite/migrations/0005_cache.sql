-- Answers kept for requests that may be given an older one: redirects too, with the cookies they set.
ALTER TABLE page_cache ADD COLUMN status INTEGER NOT NULL DEFAULT 200;
ALTER TABLE page_cache ADD COLUMN fetched_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE page_cache ADD COLUMN chain BLOB NOT NULL DEFAULT x'';
