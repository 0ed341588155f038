-- expand: an older instance does not read the new columns. It refuses requests with details; tokens that it refreshes have none.
-- Authorization details (RFC 9396): the types that a resource declares, what requests ask for, and what was granted. JSON; null: none.
ALTER TABLE resources ADD COLUMN authorization_details_types TEXT;
ALTER TABLE authorization_requests ADD COLUMN authorization_details TEXT;  -- {asked, granted}
ALTER TABLE device_requests ADD COLUMN authorization_details TEXT;
ALTER TABLE token_families ADD COLUMN authorization_details TEXT;
ALTER TABLE issuances ADD COLUMN authorization_details TEXT;
