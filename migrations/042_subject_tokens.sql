-- Whether the access tokens and ID tokens of an identity provider are accepted as subject tokens of an exchange, and the aud that they
-- may be for: a JSON list.
ALTER TABLE idps ADD COLUMN subject_tokens SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE idps ADD COLUMN audiences TEXT NOT NULL DEFAULT '[]';
