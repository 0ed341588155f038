-- expand: an older instance does not read the new table; sign-ins that it ends are not reported to applications.
-- The applications with a backchannel_logout_uri that a user signed in to within a session. When the session ends, the row waits until the
-- application has accepted the logout.
CREATE TABLE application_sessions (
  id         BYTEA PRIMARY KEY,                   -- time-ordered
  session_id BYTEA NOT NULL,
  client_id  TEXT NOT NULL,
  sid        TEXT NOT NULL,                       -- as in its ID tokens
  user_id    TEXT NOT NULL,
  expires_at BIGINT NOT NULL,                     -- of the session; after the first failed attempt: of the attempts
  ended      BIGINT NOT NULL,                     -- 1 when the session has ended
  attempts   BIGINT NOT NULL,                     -- failed ones
  retry_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX application_sessions_by_session ON application_sessions (session_id, client_id, sid);
CREATE INDEX application_sessions_due ON application_sessions (retry_at) WHERE ended = 1;
