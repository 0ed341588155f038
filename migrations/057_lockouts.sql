-- Failed logins are counted by account too: `address` is then `account:` and a MAC of the email, whether or not the account exists.
-- Operators see and end lockouts, so that a row that is locked has an id, and the user of the account if there is one.
ALTER TABLE login_failures ADD COLUMN id TEXT;
ALTER TABLE login_failures ADD COLUMN user_id TEXT;
ALTER TABLE login_failures ADD COLUMN locked_at BIGINT;
CREATE UNIQUE INDEX login_failures_by_id ON login_failures (id) WHERE id IS NOT NULL;
