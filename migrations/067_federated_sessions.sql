-- The sessions at upstream providers that users signed in from. A logout token may name one after the session here has ended.
CREATE TABLE federated_sessions (
  id         BYTEA PRIMARY KEY,                   -- time-ordered
  issuer     TEXT NOT NULL,
  sid        TEXT NOT NULL,
  user_id    TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX federated_sessions_by_sid ON federated_sessions (issuer, sid);
CREATE INDEX federated_sessions_by_user ON federated_sessions (user_id);
