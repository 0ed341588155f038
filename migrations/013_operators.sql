-- Lists of issued tokens by resource; and whether a resource was ever used, when it is to be deleted.
CREATE INDEX issuances_by_resource ON issuances (resource, id) WHERE resource IS NOT NULL;

-- When each target of `service purge` last ran, and how that went.
CREATE TABLE purge_runs (
  target      TEXT PRIMARY KEY,
  started_at  BIGINT NOT NULL,
  finished_at BIGINT NOT NULL,
  deleted     BIGINT NOT NULL,
  ok          SMALLINT NOT NULL
);
