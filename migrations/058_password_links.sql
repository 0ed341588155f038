-- One-time links to set a password. A user has at most one: a new link replaces the earlier one.
CREATE TABLE password_links (
  id         BYTEA PRIMARY KEY,                   -- time-ordered; the first part of the link
  user_id    TEXT NOT NULL,
  hash       BYTEA NOT NULL,                      -- SHA-256 of the link's token
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX password_links_by_user ON password_links (user_id);
