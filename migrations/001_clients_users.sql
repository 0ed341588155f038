-- Types are those both databases accept: TEXT, BIGINT, SMALLINT (0 or 1), BYTEA. Times are epoch seconds, lists and
-- objects are JSON text, ids of 16 bytes are time-ordered.

CREATE TABLE clients (
  client_id                  TEXT PRIMARY KEY,
  secret_hash                BYTEA,               -- SHA-256; none for public clients
  client_name                TEXT NOT NULL,
  redirect_uris              TEXT NOT NULL,
  grant_types                TEXT NOT NULL,
  response_types             TEXT NOT NULL,
  token_endpoint_auth_method TEXT NOT NULL,
  scope                      TEXT NOT NULL,
  status                     TEXT NOT NULL,       -- active, suspended
  registration_source        TEXT NOT NULL,       -- admin, dcr, cimd
  is_agent                   SMALLINT NOT NULL,
  agent_description          TEXT NOT NULL,
  dpop_bound_access_tokens   SMALLINT NOT NULL,   -- RFC 9449 §5.2
  version                    BIGINT NOT NULL,     -- optimistic concurrency
  issued_at                  BIGINT NOT NULL,
  updated_at                 BIGINT NOT NULL
);
CREATE INDEX clients_by_age ON clients (issued_at, client_id);

CREATE TABLE users (
  id            TEXT PRIMARY KEY,
  email         TEXT,
  email_key     TEXT UNIQUE,                      -- the email as it is compared: lower case
  name          TEXT NOT NULL,
  password_hash TEXT,                             -- PHC string; none for federated users
  role          TEXT NOT NULL,                    -- admin, user
  status        TEXT NOT NULL,                    -- active, disabled
  provider      TEXT NOT NULL,                    -- local, oidc
  version       BIGINT NOT NULL,
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL
);
CREATE INDEX users_by_age ON users (created_at, id);

-- Sign-ins of browsers. The cookie names the row, so that a row that is gone ends the session.
CREATE TABLE sessions (
  id         BYTEA PRIMARY KEY,
  user_id    TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
)
WITHOUT ROWID -- sqlite only
;
CREATE INDEX sessions_by_user ON sessions (user_id);

-- What operators change at run time; it wins over the configuration.
CREATE TABLE runtime_settings (
  name       TEXT PRIMARY KEY,
  value      TEXT NOT NULL,
  updated_at BIGINT NOT NULL
);

-- The issuer is not repeated in every issuance; this says which one was in force when.
CREATE TABLE issuers (
  since  BIGINT PRIMARY KEY,
  issuer TEXT NOT NULL
);
