-- expand: an older instance does not write or read the new table.
-- The last refused requests of registered clients, with what was sent beside what is allowed. All instances add to the same rows.
CREATE TABLE client_failures (
  client_id  TEXT NOT NULL,
  what       TEXT NOT NULL,                       -- digest of step, reason, parameter and sent value: equal failures are counted
  step       TEXT NOT NULL,
  status     BIGINT NOT NULL,
  error      TEXT NOT NULL,
  reason     TEXT NOT NULL,
  detail     TEXT NOT NULL,                       -- the message that the client got, without secrets
  parameter  TEXT,                                -- redirect_uri, scope, resource or audience
  sent       TEXT,                                -- its refused value, without secrets
  allowed    TEXT,                                -- JSON: values that would have been accepted
  address    TEXT NOT NULL,
  request_id TEXT NOT NULL,                       -- of the last one
  count      BIGINT NOT NULL,
  first_at   BIGINT NOT NULL,
  last_at    BIGINT NOT NULL,
  PRIMARY KEY (client_id, what)
)
WITHOUT ROWID -- sqlite only
;
CREATE INDEX client_failures_by_time ON client_failures (last_at);
