-- expand: an older instance does not write the new column: its events are found by everything but the record that they are about.
-- What an event is about, for the history of one record: the id of a user, a resource or another record that its detail names.
ALTER TABLE audit_events ADD COLUMN about TEXT;
CREATE INDEX audit_by_about ON audit_events (about, id) WHERE about IS NOT NULL;
CREATE INDEX audit_by_address ON audit_events (ip, id);
