-- Who may use a resource (JSON; NULL: everyone), and the claims about the user in its tokens (JSON list; NULL: none). The groups of a
-- scope are in the column scopes.
ALTER TABLE resources ADD COLUMN access TEXT;
ALTER TABLE resources ADD COLUMN token_claims TEXT;
