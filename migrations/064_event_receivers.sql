-- Receivers of events: webhooks, and streams of security events. The events are the rows of the record; nothing is copied.
CREATE TABLE event_receivers (
  id           TEXT PRIMARY KEY,
  kind         TEXT NOT NULL,                     -- webhook, stream
  url          TEXT,                              -- none for a stream that is polled
  events       TEXT NOT NULL,
  status       TEXT NOT NULL,                     -- enabled, paused, disabled
  secret       TEXT,                              -- encrypted with data_encryption
  secret_clear TEXT,                              -- the same without data_encryption
  client_id    TEXT,                              -- of a stream: the resource server
  settings     TEXT NOT NULL,                     -- what only one kind has
  version      BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL
);
CREATE INDEX event_receivers_by_age ON event_receivers (created_at, id);

-- How far each receiver is. Apart from the receivers, because it changes with every delivery.
CREATE TABLE event_cursors (
  receiver_id    TEXT PRIMARY KEY,
  feed_order     BIGINT NOT NULL,
  event_id       BYTEA NOT NULL,                  -- the last event that it received, or that it does not want
  acknowledged   TEXT NOT NULL,                   -- of a polled stream: events behind the cursor that it acknowledged
  attempts       BIGINT NOT NULL,                 -- failed attempts of the next event
  retry_at       BIGINT NOT NULL,
  failing_since  BIGINT,
  last_error     TEXT,
  delivered_at   BIGINT,
  recent         TEXT NOT NULL                    -- the last attempts
);

-- Work that one instance at a time does.
CREATE TABLE leases (
  name         TEXT PRIMARY KEY,
  holder       TEXT NOT NULL,
  leased_until BIGINT NOT NULL
);

-- The order in which events became visible. Their ids are made before the commit, so that a smaller id may become visible after a larger one.
ALTER TABLE audit_events ADD COLUMN feed_order BIGINT;
CREATE INDEX audit_by_feed ON audit_events (feed_order, id);
CREATE TRIGGER audit_feed AFTER INSERT ON audit_events BEGIN -- sqlite only
  UPDATE audit_events SET feed_order = 1 + max( -- sqlite only
    COALESCE((SELECT max(feed_order) FROM audit_events), 0), -- sqlite only
    COALESCE((SELECT max(feed_order) FROM event_cursors), 0)) WHERE id = NEW.id; -- sqlite only
END; -- sqlite only
-- Only where there are partitions, to the end.
-- The transaction. An event is read when every older transaction has ended, so that none becomes visible before it.
ALTER TABLE audit_events ALTER COLUMN feed_order SET DEFAULT pg_current_xact_id()::text::bigint;
