-- expand: an older instance ignores the new columns and tables, refuses a key with the capability scim everywhere, and does not end the SCIM records of a user that it deletes.
-- The provider whose people a key with the capability scim manages.
ALTER TABLE api_keys ADD COLUMN provider TEXT;
-- The claim of the last ID token that SCIM compares with externalId, where it is another one than `sub`.
ALTER TABLE users ADD COLUMN provider_claim TEXT;
CREATE INDEX users_by_provider_claim ON users (provider_issuer, provider_claim) WHERE provider_claim IS NOT NULL;

-- What a provider says of a person over SCIM. The account is the row in `users`.
CREATE TABLE scim_users (
  user_id       TEXT PRIMARY KEY,
  provider      TEXT NOT NULL,                    -- slug
  user_name     TEXT NOT NULL,
  user_name_key TEXT NOT NULL,                    -- in lower case
  external_id   TEXT,
  display_key   TEXT,                             -- displayName in lower case
  attributes    TEXT NOT NULL,                    -- JSON: displayName, name, emails
  version       BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX scim_users_by_name ON scim_users (provider, user_name_key);
CREATE UNIQUE INDEX scim_users_by_external_id ON scim_users (provider, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX scim_users_by_display_name ON scim_users (provider, display_key) WHERE display_key IS NOT NULL;
CREATE INDEX scim_users_by_age ON scim_users (provider, created_at, user_id);

CREATE TABLE scim_emails (
  user_id    TEXT NOT NULL,
  email_key  TEXT NOT NULL,                       -- in lower case
  provider   TEXT NOT NULL,
  is_primary BIGINT NOT NULL,
  PRIMARY KEY (user_id, email_key)
)
WITHOUT ROWID -- sqlite only
;
CREATE INDEX scim_emails_by_email ON scim_emails (provider, email_key);

CREATE TABLE scim_groups (
  id          TEXT PRIMARY KEY,
  provider    TEXT NOT NULL,
  name        TEXT NOT NULL,
  name_key    TEXT NOT NULL,                      -- in lower case
  external_id TEXT,
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX scim_groups_by_name ON scim_groups (provider, name_key);
CREATE INDEX scim_groups_by_external_id ON scim_groups (provider, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX scim_groups_by_age ON scim_groups (provider, created_at, id);

CREATE TABLE scim_members (
  group_id TEXT NOT NULL,
  user_id  TEXT NOT NULL,
  PRIMARY KEY (group_id, user_id)
)
WITHOUT ROWID -- sqlite only
;
CREATE INDEX scim_members_by_user ON scim_members (user_id);

-- A provider that has called /scim/v2.
CREATE TABLE scim_providers (
  provider      TEXT PRIMARY KEY,
  groups_since  BIGINT,                           -- from then on the groups of its people are those of SCIM
  last_error    TEXT,
  last_error_at BIGINT
);
