-- expand: an older instance does not read the new table; it has no clients.approval, and lets every client ask its users.
-- Clients that wait for the approval of an operator, and the decisions about them.
CREATE TABLE client_requests (
  id             BYTEA PRIMARY KEY,               -- time-ordered
  client_id      TEXT NOT NULL,
  client_name    TEXT NOT NULL,
  redirect_hosts TEXT NOT NULL,                   -- JSON
  resource       TEXT,                            -- URI of the last request
  requested_by   TEXT NOT NULL,                   -- the user who asked first
  requests       BIGINT NOT NULL,
  status         TEXT NOT NULL,                   -- waiting, approved or denied
  first_at       BIGINT NOT NULL,
  last_at        BIGINT NOT NULL
);
CREATE UNIQUE INDEX client_requests_by_client ON client_requests (client_id);
