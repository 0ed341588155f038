-- expand: an older instance does not read the new table; it answers a long operation only at its end.
-- Operations of the admin API that took longer than a request may. One that has not been seen for a while was interrupted.
CREATE TABLE jobs (
  id          BYTEA PRIMARY KEY,                  -- time-ordered
  operation   TEXT NOT NULL,                      -- method and path
  actor_id    TEXT NOT NULL,
  status      TEXT NOT NULL,                      -- running, done or failed
  rows_done   BIGINT NOT NULL,
  percent     BIGINT NOT NULL,
  outcome     TEXT,                               -- JSON: the answer, or the refusal
  created_at  BIGINT NOT NULL,
  seen_at     BIGINT NOT NULL
)
WITHOUT ROWID -- sqlite only
;
