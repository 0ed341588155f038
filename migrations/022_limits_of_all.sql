-- What is limited for one address or host, at all instances together: the moment at which its bucket is full again.
CREATE TABLE rate_buckets (
  name    TEXT PRIMARY KEY,                       -- what is limited, and whose: `register 192.0.2.1`
  full_at BIGINT NOT NULL                         -- epoch microseconds
);
-- Buckets that have been full for a while are deleted.
CREATE INDEX rate_buckets_by_age ON rate_buckets (full_at);
-- Processes that serve on one PostgreSQL: each takes its share of what is limited as a whole.
CREATE TABLE instances (
  id      TEXT PRIMARY KEY,
  seen_at BIGINT NOT NULL                         -- epoch milliseconds, by the clock of the database
);
