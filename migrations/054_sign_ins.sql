-- What users see of their sign-ins: the browser and the address that the sign-in came from, and when it was last used.
ALTER TABLE sessions ADD COLUMN user_agent TEXT;
ALTER TABLE sessions ADD COLUMN ip TEXT;
ALTER TABLE sessions ADD COLUMN last_used_at BIGINT;
