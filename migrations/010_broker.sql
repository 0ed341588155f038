-- Where upstream tokens come from. What a provider needs is in config_data, which names secrets and never holds them.
CREATE TABLE broker_providers (
  id           TEXT PRIMARY KEY,
  slug         TEXT NOT NULL UNIQUE,
  display_name TEXT NOT NULL,
  protocol     TEXT NOT NULL,                     -- oauth, apikey, service_account
  config_data  TEXT NOT NULL,
  version      BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL
);
CREATE INDEX resources_by_provider ON resources (broker_provider_slug) WHERE broker_provider_slug IS NOT NULL;

-- The connection of a user to a provider; connecting again revives the row. A revoked one holds no credential.
CREATE TABLE broker_grants (
  id                 BYTEA PRIMARY KEY,
  user_id            TEXT NOT NULL,
  broker_provider_id TEXT NOT NULL,
  credential         TEXT,                        -- sealed: refresh token or key, and the tokens that are still fresh
  scopes_granted     TEXT NOT NULL,
  lease_id           BYTEA,                       -- who is asking the provider for a new token now
  leased_until       BIGINT,
  version            BIGINT NOT NULL,
  created_at         BIGINT NOT NULL,
  updated_at         BIGINT NOT NULL,
  revoked_at         BIGINT
)
WITHOUT ROWID -- sqlite only
;
CREATE UNIQUE INDEX broker_grants_by_user ON broker_grants (user_id, broker_provider_id);
CREATE INDEX broker_grants_by_provider ON broker_grants (broker_provider_id);

-- Users who are on their way to a provider and back.
CREATE TABLE connect_states (
  id                 BYTEA PRIMARY KEY,
  user_id            TEXT NOT NULL,
  broker_provider_id TEXT NOT NULL,
  resource_id        TEXT NOT NULL,
  return_url         TEXT NOT NULL,
  scope              TEXT NOT NULL,               -- what the provider was asked for
  expires_at         BIGINT NOT NULL
)
WITHOUT ROWID -- sqlite only
;

-- The provider whose token was vended; none for our own tokens. A vended one has no key and cannot be revoked here.
ALTER TABLE issuances ADD COLUMN broker_provider TEXT;
CREATE INDEX issuances_vended ON issuances (id) WHERE broker_provider IS NOT NULL;
