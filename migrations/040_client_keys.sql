-- Public keys of a client for private_key_jwt (RFC 7523): the key set itself as JSON, or where it is published.
ALTER TABLE clients ADD COLUMN jwks TEXT;
ALTER TABLE clients ADD COLUMN jwks_uri TEXT;
-- Workload identities that may act as the client (federated_jwt), as JSON.
ALTER TABLE clients ADD COLUMN federated_credentials TEXT;
-- The authentication methods of a client whose metadata document names several, as JSON.
ALTER TABLE clients ADD COLUMN auth_methods TEXT;
