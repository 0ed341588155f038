-- Counted up in every transaction that other instances must hear of, for those that missed the notification. What changes
-- often has several rows, so that writers do not wait for each other.
CREATE TABLE store_versions (
  name    TEXT PRIMARY KEY,
  version BIGINT NOT NULL
);
INSERT INTO store_versions (name, version) VALUES ('keys-0', 0), ('records-0', 0), ('records-1', 0), ('records-2', 0),
  ('records-3', 0), ('records-4', 0), ('records-5', 0), ('records-6', 0), ('records-7', 0);
