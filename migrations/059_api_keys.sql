-- Keys of the admin API that operators create at run time. The key itself is never stored.
CREATE TABLE api_keys (
  id           BYTEA PRIMARY KEY,                 -- time-ordered; the first part of the key
  name         TEXT NOT NULL UNIQUE,
  capability   TEXT NOT NULL,
  hash         BYTEA NOT NULL,                    -- SHA-256 of the key
  created_at   BIGINT NOT NULL,
  last_used_at BIGINT
);
