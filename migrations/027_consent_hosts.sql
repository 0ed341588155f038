-- The hosts that a consent page named, each with the scope that was allowed there (JSON). Where there is none, from before this
-- column, nobody knows what was shown: the user is asked again.
ALTER TABLE consent_grants ADD COLUMN redirect_hosts TEXT;
