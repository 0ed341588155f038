-- expand: an older instance does not read the new column.
-- Further claims of the scope profile: {"given_name": "Ada", "family_name": "Lovelace", "preferred_username": "ada", "locale": "en"}.
ALTER TABLE users ADD COLUMN profile TEXT;
