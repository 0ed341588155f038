-- A client may have several secrets while it is given a new one: a JSON list of id, hash (SHA-256 in hex), created_at and expires_at, the
-- newest first; none for public clients.
ALTER TABLE clients ADD COLUMN secrets TEXT;
-- When each secret was last used: a JSON object of epoch seconds by id. A column of its own, so that a use cannot overwrite a change.
ALTER TABLE clients ADD COLUMN secret_uses TEXT;
UPDATE clients SET secrets = '[{"id":"first","hash":"' ||
  lower(hex(secret_hash)) -- sqlite only
  encode(secret_hash, 'hex') -- postgres only
  || '","created_at":' || CAST(COALESCE(
    (SELECT max(created_at) FROM audit_events a WHERE a.client_id = clients.client_id AND a.action = 'client_secret_rotated'),
    issued_at) AS TEXT) || '}]'
  WHERE secret_hash IS NOT NULL;
ALTER TABLE clients DROP COLUMN secret_hash;
