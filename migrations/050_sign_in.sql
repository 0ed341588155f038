-- When and how the user signed in (JSON), for requests that asked for it: ID tokens and access tokens say it.
ALTER TABLE authorization_requests ADD COLUMN sign_in TEXT;
ALTER TABLE token_families ADD COLUMN sign_in TEXT;
-- Where a browser may return after a logout, as a JSON list.
ALTER TABLE clients ADD COLUMN post_logout_redirect_uris TEXT;
