-- expand: an older instance ignores the columns and the table; a request that a newer one denied has expired for it.
-- The query of the request as the browser sent it, encrypted with a key that only the browser has.
ALTER TABLE authorization_requests ADD COLUMN sealed TEXT;
ALTER TABLE authorization_requests ADD COLUMN denied_at BIGINT;

-- What browsers come back for: sign-ins at a provider, and requests that are too long for a URL. Encrypted with keys that only the browser has.
CREATE TABLE pending_values (
  id         BYTEA PRIMARY KEY,                   -- time-ordered
  sealed     TEXT NOT NULL,
  expires_at BIGINT NOT NULL
)
WITHOUT ROWID -- sqlite only
;
