-- The typ of the access tokens of a resource, and of each issued token: at+jwt (RFC 9068) where it is NULL, or JWT.
ALTER TABLE resources ADD COLUMN access_token_typ TEXT;
ALTER TABLE issuances ADD COLUMN typ TEXT;
