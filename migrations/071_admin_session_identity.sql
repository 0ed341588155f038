-- expand: an older instance ignores these columns; a session that it starts for a person has no identity, and newer instances refuse it, so that the person signs in again.
-- Who signed in to the admin page, as the provider said at that sign-in. The row of the account can change later; a session can only lose rights by it.
ALTER TABLE admin_sessions ADD COLUMN provider TEXT;
ALTER TABLE admin_sessions ADD COLUMN issuer TEXT;
ALTER TABLE admin_sessions ADD COLUMN subject TEXT;
ALTER TABLE admin_sessions ADD COLUMN provider_groups TEXT;
ALTER TABLE admin_sessions ADD COLUMN actor_id TEXT;
