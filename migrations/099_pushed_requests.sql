-- expand: an older instance does not read the new table and columns; it refuses a request_uri, and its clients need not push.
-- Authorization requests that clients pushed (RFC 9126) and that no browser has opened yet. Encrypted with a key that only the client has.
CREATE TABLE pushed_requests (
  id         BYTEA PRIMARY KEY,                   -- time-ordered
  sealed     TEXT NOT NULL,
  expires_at BIGINT NOT NULL
)
WITHOUT ROWID -- sqlite only
;
-- A pushed request that a browser has opened is a pending value. The authorization request that answered it: there is one answer.
ALTER TABLE pending_values ADD COLUMN answered_by BYTEA;
ALTER TABLE authorization_requests ADD COLUMN pushed_id BYTEA;
