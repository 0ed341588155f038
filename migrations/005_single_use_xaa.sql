-- What may be used once: DPoP proofs (RFC 9449 §11.1) and assertions (RFC 7523 §3). Kept until it would be refused for its
-- age anyway. One SQLite process knows them in memory and reads them here after a restart, so that no random key is
-- indexed there; several processes on PostgreSQL are kept apart by the index.
CREATE TABLE single_uses (
  id         BYTEA PRIMARY KEY,
  kind       TEXT NOT NULL,                       -- dpop, assertion
  hash       BYTEA NOT NULL,                      -- of the key or issuer, and the jti
  expires_at BIGINT NOT NULL
)
WITHOUT ROWID -- sqlite only
;
CREATE UNIQUE INDEX single_uses_by_hash ON single_uses (kind, hash); -- postgres only

-- Identity providers whose assertions are accepted.
CREATE TABLE idps (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  issuer     TEXT NOT NULL UNIQUE,                -- compared byte for byte
  audience   TEXT NOT NULL,
  jwks_uri   TEXT NOT NULL,
  enabled    SMALLINT NOT NULL,
  version    BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);

CREATE TABLE xaa_policies (
  id         TEXT PRIMARY KEY,
  idp_id     TEXT NOT NULL,
  name       TEXT NOT NULL,
  client_ids TEXT NOT NULL,                       -- empty: any
  scopes     TEXT,                                -- none: no limit; empty: nothing
  resources  TEXT NOT NULL,                       -- empty: any
  enabled    SMALLINT NOT NULL,
  version    BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX policies_by_idp ON xaa_policies (idp_id, created_at, id);

CREATE TABLE subject_mappings (
  id                TEXT PRIMARY KEY,
  idp_id            TEXT NOT NULL,
  mode              TEXT NOT NULL,                -- explicit
  federated_subject TEXT NOT NULL,
  local_subject     TEXT NOT NULL,
  created_at        BIGINT NOT NULL,
  UNIQUE (idp_id, federated_subject)
);
