-- expand: an older instance does not read or write the new table: what it deletes cannot be restored.
-- Deleted clients and resources, which can be restored for a while. Each is one value, so that nothing else finds it.
CREATE TABLE deleted_records (
  id          BYTEA PRIMARY KEY,                  -- time-ordered
  kind        TEXT NOT NULL,                      -- client or resource
  name        TEXT NOT NULL,                      -- client_id, or the id of the resource
  label       TEXT NOT NULL,                      -- client_name, or the slug of the resource
  deleted_at  BIGINT NOT NULL,
  deleted_by  TEXT NOT NULL,                      -- actor_id
  lost        TEXT NOT NULL,                      -- JSON: what a restore does not bring back
  data        TEXT NOT NULL                       -- JSON: the record, with the hashes of its secrets
)
WITHOUT ROWID -- sqlite only
;
CREATE INDEX deleted_by_name ON deleted_records (kind, name, id);
