-- Device authorization requests (RFC 8628). The request of the user who enters the code is the row of authorization_requests with the same id.
CREATE TABLE device_requests (
  id             BYTEA PRIMARY KEY,
  hash           BYTEA NOT NULL,                  -- SHA-256 of the device code
  user_code_hash BYTEA NOT NULL,                  -- MAC of the user code, which is too short for a plain hash
  client_id      TEXT NOT NULL,
  client         TEXT,                            -- the client of a metadata document that is not stored yet
  scope          TEXT NOT NULL,
  asked_scope    TEXT NOT NULL,
  resource       TEXT,
  dpop_jkt       TEXT,                            -- key that the device code is bound to
  ip             TEXT NOT NULL,                   -- where the code was requested from
  user_agent     TEXT,
  wait           BIGINT NOT NULL,                 -- seconds between two polls; slow_down adds five
  polled_at_ms   BIGINT,                          -- epoch milliseconds of the last poll
  decision       TEXT,                            -- approved, denied; none while the device waits
  created_at     BIGINT NOT NULL,
  expires_at     BIGINT NOT NULL
)
WITHOUT ROWID -- sqlite only
;
CREATE UNIQUE INDEX device_requests_by_user_code ON device_requests (user_code_hash);
