-- Groups of users: the names that operators set, and those that the upstream provider named at the last sign-in (sorted JSON lists).
ALTER TABLE users ADD COLUMN operator_groups TEXT;
ALTER TABLE users ADD COLUMN provider_groups TEXT;
-- Whether an operator or the provider vouches for the email. What providers said before this column is not known.
ALTER TABLE users ADD COLUMN email_verified BIGINT NOT NULL DEFAULT 0;
UPDATE users SET email_verified = 1 WHERE provider = 'local';

-- Both lists of each user once more, one row for each group, to list groups and their users.
CREATE TABLE user_groups (
  user_id    TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at BIGINT NOT NULL,                     -- of the user
  PRIMARY KEY (user_id, name)
);
CREATE INDEX user_groups_by_name ON user_groups (name, created_at, user_id);
