-- The last issued token that a webhook received as an event. NULL before the first one.
ALTER TABLE event_cursors ADD COLUMN issued_id BYTEA;
