-- expand: an older instance does not read the new table, and leaves the new columns of its row in `instances` empty.
-- The oldest version of the service that works with these tables, in one row. Each instance reads it every second.
CREATE TABLE schema_support (
  id     BIGINT PRIMARY KEY,
  oldest TEXT NOT NULL
);
INSERT INTO schema_support (id, oldest) VALUES (1, '0.2.1');
-- What an instance says about itself. `fingerprints` is JSON: MACs of the settings that all instances must share, by their name.
ALTER TABLE instances ADD COLUMN version TEXT;
ALTER TABLE instances ADD COLUMN host TEXT;
ALTER TABLE instances ADD COLUMN address TEXT;
ALTER TABLE instances ADD COLUMN started_at BIGINT;
ALTER TABLE instances ADD COLUMN threads BIGINT;
ALTER TABLE instances ADD COLUMN fingerprints TEXT;
