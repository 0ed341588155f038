-- Signing keys of signing.key_store postgres_key. The private key is sealed (data_encryption) for its kid.
CREATE TABLE signing_keys (
  kid         TEXT PRIMARY KEY,
  alg         TEXT NOT NULL,
  private_key TEXT NOT NULL,                      -- sealed PKCS#8 PEM
  state       TEXT NOT NULL,                      -- next, current, previous
  created_at  BIGINT NOT NULL,
  retired_at  BIGINT,
  remove_at   BIGINT
);
-- However many instances rotate at once: one key is current, one is next.
CREATE UNIQUE INDEX signing_keys_in_force ON signing_keys (state) WHERE state <> 'previous';
