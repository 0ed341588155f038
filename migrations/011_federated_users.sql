-- Users who sign in at an upstream OpenID provider, known by what it calls them; local users have neither.
ALTER TABLE users ADD COLUMN provider_issuer TEXT;
ALTER TABLE users ADD COLUMN provider_sub TEXT;
CREATE UNIQUE INDEX users_by_provider ON users (provider_issuer, provider_sub);
