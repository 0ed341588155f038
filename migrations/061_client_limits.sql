-- The limits that operators set for single clients: {"requests_per_second": 5, "tokens_per_day": 1000}.
ALTER TABLE clients ADD COLUMN limits TEXT;
-- How many tokens each client with a daily limit got, at all instances together. Rows of earlier days are deleted.
CREATE TABLE client_token_counts (
  day        BIGINT NOT NULL,                     -- days since 1970-01-01 (UTC)
  client_id  TEXT NOT NULL,
  tokens     BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,                     -- epoch seconds: instances read what others changed
  PRIMARY KEY (day, client_id)
);
CREATE INDEX client_token_counts_by_change ON client_token_counts (day, updated_at, client_id);
