-- The session at the upstream provider, for sessions that began there: a logout token of the provider names it.
ALTER TABLE sessions ADD COLUMN oidc_issuer TEXT;
ALTER TABLE sessions ADD COLUMN oidc_sid TEXT;
CREATE INDEX sessions_by_oidc_sid ON sessions (oidc_issuer, oidc_sid) WHERE oidc_sid IS NOT NULL;
