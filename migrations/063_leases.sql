-- Work that one instance at a time does, such as the deletion of expired rows.
CREATE TABLE leases (
  name       TEXT PRIMARY KEY,
  holder     TEXT NOT NULL,                       -- id of the process that holds or held the lease
  held_until BIGINT NOT NULL
);
