CREATE TABLE resources (
  id                   TEXT PRIMARY KEY,
  slug                 TEXT NOT NULL UNIQUE,
  uri                  TEXT UNIQUE,               -- compared byte for byte
  backend_kind         TEXT NOT NULL,             -- mint, broker
  broker_provider_slug TEXT,
  display_name         TEXT NOT NULL,
  scopes               TEXT NOT NULL,
  policy               TEXT NOT NULL,
  version              BIGINT NOT NULL,
  created_at           BIGINT NOT NULL,
  updated_at           BIGINT NOT NULL
);

-- What a user allowed a client to do at a resource. A revoked row stays; consenting again makes a new one, so that tokens
-- of the old one stay dead.
CREATE TABLE consent_grants (
  id          BYTEA PRIMARY KEY,
  user_id     TEXT NOT NULL,
  client_id   TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  scope       TEXT NOT NULL,
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL,
  revoked_at  BIGINT
);
CREATE UNIQUE INDEX consents_in_force ON consent_grants (user_id, client_id, resource_id) WHERE revoked_at IS NULL;
CREATE INDEX consents_by_client ON consent_grants (client_id);
CREATE INDEX consents_by_resource ON consent_grants (resource_id);
