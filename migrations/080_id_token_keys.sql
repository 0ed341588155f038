-- expand: an older instance reads neither the table nor the column. It signs all ID tokens with its signing key.
-- The keys of ID tokens whose algorithm is not that of access tokens, with signing.key_store postgres_key. As signing_keys.
CREATE TABLE id_token_keys (
  kid         TEXT PRIMARY KEY,
  alg         TEXT NOT NULL,
  private_key TEXT NOT NULL,                      -- sealed PKCS#8 PEM
  state       TEXT NOT NULL,                      -- next, current, previous
  created_at  BIGINT NOT NULL,
  retired_at  BIGINT,
  remove_at   BIGINT
);
CREATE UNIQUE INDEX id_token_keys_in_force ON id_token_keys (state) WHERE state <> 'previous';
-- The members of a client for the OpenID provider: {"id_token_signed_response_alg": "ES256"}.
ALTER TABLE clients ADD COLUMN openid TEXT;
