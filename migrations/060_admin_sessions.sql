-- Browsers that are signed in to the admin page, as a person of an upstream provider or with an API key. Only hashes are stored.
CREATE TABLE admin_sessions (
  id         BYTEA PRIMARY KEY,                   -- time-ordered; the first part of the cookie
  hash       BYTEA NOT NULL,                      -- SHA-256 of the cookie
  user_id    TEXT,                                -- the person
  api_key_id BYTEA,                               -- the key that was created at run time
  config_key BYTEA,                               -- a MAC of the key of the configuration
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX admin_sessions_by_user ON admin_sessions (user_id) WHERE user_id IS NOT NULL;
