-- expand: an older instance does not read the new tables: it signs users in with the password alone. Users add factors after the roll-out.
-- The second factors of local users: authenticator apps and passkeys.
CREATE TABLE user_factors (
  id            BYTEA PRIMARY KEY,                -- time-ordered
  user_id       TEXT NOT NULL,
  kind          TEXT NOT NULL,                    -- totp, passkey
  name          TEXT NOT NULL,
  created_at    BIGINT NOT NULL,
  last_used_at  BIGINT,
  secret        TEXT,                             -- of an app; encrypted
  secret_clear  TEXT,                             -- the same without data_encryption
  last_step     BIGINT,                           -- the time step of the last code
  credential_id BYTEA,                            -- of a passkey
  public_key    BYTEA,                            -- of a passkey: COSE
  counter       BIGINT                            -- of a passkey
);
CREATE INDEX user_factors_by_user ON user_factors (user_id, id);
CREATE UNIQUE INDEX user_factors_by_credential ON user_factors (credential_id) WHERE credential_id IS NOT NULL;

CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL,
  hash    BYTEA NOT NULL,
  PRIMARY KEY (user_id, hash)
)
WITHOUT ROWID -- sqlite only
;
