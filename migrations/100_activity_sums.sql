-- expand: an older instance does not read or write the new table.
-- Requests and tokens by minute and by hour, for charts. All instances add to the same rows, and delete old ones.
CREATE TABLE activity_sums (
  step      BIGINT NOT NULL,                      -- seconds: 60 or 3600
  kind      TEXT NOT NULL,                        -- all, client, resource, user, grant, reason, latency or start
  name      TEXT NOT NULL,                        -- of the client, the resource ...; empty: those that have no row of their own
  starts_at BIGINT NOT NULL,                      -- epoch seconds
  requests  BIGINT NOT NULL,
  refused   BIGINT NOT NULL,
  limited   BIGINT NOT NULL,                      -- of the refused ones, those that a limit refused
  issued    BIGINT NOT NULL,
  PRIMARY KEY (step, kind, name, starts_at)
)
WITHOUT ROWID -- sqlite only
;
CREATE INDEX activity_sums_by_time ON activity_sums (step, starts_at);
