-- oauth.refresh_grace: which refresh token replaced this one, where the text of that one can be derived from this one.
ALTER TABLE refresh_tokens ADD COLUMN next_id BYTEA;
-- 1: the token answers the retry of a refresh request.
ALTER TABLE issuances ADD COLUMN retry SMALLINT;
