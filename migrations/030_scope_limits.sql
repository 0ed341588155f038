-- Resource of a client_credentials request that names none; only operators set it.
ALTER TABLE clients ADD COLUMN default_resource TEXT;
-- The scope that an authorization request asked for, where more than what was granted: a refresh request may repeat it.
ALTER TABLE authorization_requests ADD COLUMN asked_scope TEXT;
ALTER TABLE token_families ADD COLUMN asked_scope TEXT;
-- The scope that a client registered about itself is now a default and no limit. Where an operator changed it, it stays a limit.
-- The names of scopes hold neither quotes nor backslashes, so that the text is valid JSON.
UPDATE clients SET operator_set = '{"scope":"' || scope || '"}'
  WHERE registration_source = 'dcr' AND scope <> ''
    AND client_id IN (SELECT client_id FROM audit_events WHERE action = 'client_updated' AND detail LIKE '%"scope"%');
