-- One row is a pending request, then a code, then a consumed code: it outlives its use so that a replay is recognised.
CREATE TABLE authorization_requests (
  id              BYTEA PRIMARY KEY,
  client_id       TEXT NOT NULL,
  user_id         TEXT NOT NULL,
  session_id      BYTEA NOT NULL,                 -- only the browser that started it may go on
  redirect_uri    TEXT NOT NULL,
  redirect_uri_sent SMALLINT NOT NULL,            -- named in the request, so the token request must name it too
  scope           TEXT NOT NULL,
  resource        TEXT,
  state           TEXT,
  code_challenge  TEXT NOT NULL,
  dpop_jkt        TEXT,                           -- RFC 9449 §10
  consent_id      BYTEA,
  code_hash       BYTEA,
  code_expires_at BIGINT,
  consumed_at     BIGINT,
  created_at      BIGINT NOT NULL,
  expires_at      BIGINT NOT NULL
)
WITHOUT ROWID -- sqlite only
;

-- The lineage of one sign-in: revoking it ends its refresh tokens and every access token that came of it.
CREATE TABLE token_families (
  id               BYTEA PRIMARY KEY,
  client_id        TEXT NOT NULL,
  user_id          TEXT NOT NULL,
  scope            TEXT NOT NULL,
  resource         TEXT,
  consent_id       BYTEA,
  authorization_id BYTEA NOT NULL,
  jkt              TEXT,                          -- key that refresh tokens of public clients are bound to (RFC 9449 §5)
  created_at       BIGINT NOT NULL,
  revoked_at       BIGINT,
  revoked_reason   TEXT
)
WITHOUT ROWID -- sqlite only
;
CREATE INDEX families_by_user ON token_families (user_id, client_id);
CREATE INDEX families_by_client ON token_families (client_id);
CREATE UNIQUE INDEX families_by_authorization ON token_families (authorization_id);
CREATE INDEX families_by_consent ON token_families (consent_id) WHERE consent_id IS NOT NULL;

CREATE TABLE refresh_tokens (
  id          BYTEA PRIMARY KEY,
  family_id   BYTEA NOT NULL,
  hash        BYTEA NOT NULL,                     -- SHA-256 of the token
  expires_at  BIGINT NOT NULL,
  consumed_at BIGINT
)
WITHOUT ROWID -- sqlite only
;

-- One row for every token issued, whatever the grant. The id is the jti. Also the audit event token_issued.
CREATE TABLE issuances (
  id         BYTEA PRIMARY KEY,
  grant_type TEXT NOT NULL,
  client_id  TEXT NOT NULL,
  sub        TEXT,                                -- none when it is the client itself
  resource   TEXT,                                -- the aud claim
  scope      TEXT NOT NULL,
  issued_at  BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  kid        TEXT NOT NULL,
  jkt        TEXT,                                -- key the token is bound to; a token without one is a bearer token
  act        TEXT,                                -- chain of actors
  agent      SMALLINT,                            -- 1 when the client was an agent
  family_id  BYTEA,
  consent_id BYTEA,
  parent_id  BYTEA,                               -- the subject token it was exchanged for
  ip         TEXT NOT NULL,
  revoked_at BIGINT
)
WITHOUT ROWID -- sqlite only
;
CREATE INDEX issuances_by_client ON issuances (client_id, id);
CREATE INDEX issuances_by_sub ON issuances (sub, id) WHERE sub IS NOT NULL;
CREATE INDEX issuances_by_parent ON issuances (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE audit_events (
  id         BYTEA PRIMARY KEY,
  action     TEXT NOT NULL,
  actor_id   TEXT NOT NULL,
  client_id  TEXT,
  ip         TEXT NOT NULL,
  request_id BYTEA,
  detail     TEXT NOT NULL,
  created_at BIGINT NOT NULL
)
WITHOUT ROWID -- sqlite only
;
CREATE INDEX audit_by_action ON audit_events (action, id);
CREATE INDEX audit_by_client ON audit_events (client_id, id) WHERE client_id IS NOT NULL;
CREATE INDEX audit_by_actor ON audit_events (actor_id, id);
