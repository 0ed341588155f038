-- What the upstream provider said about the authentication of a session: when, with which methods (JSON), and of which class.
ALTER TABLE sessions ADD COLUMN auth_time BIGINT;
ALTER TABLE sessions ADD COLUMN amr TEXT;
ALTER TABLE sessions ADD COLUMN acr TEXT;
