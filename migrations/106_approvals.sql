-- expand: an older instance does not read the new columns. It lets nobody decide about approvals, which wait or expire.
-- Approvals (CIBA) are polled requests as those of devices. The person who is asked decides at /account/requests.
ALTER TABLE device_requests ADD COLUMN user_id TEXT;     -- the person who may decide; null: none, or the request of a device
ALTER TABLE device_requests ADD COLUMN person BYTEA;     -- MAC of the person, or of a hint that names nobody; null: the request of a device
ALTER TABLE device_requests ADD COLUMN approval TEXT;    -- JSON: binding message, acr_values, encrypted notification token
ALTER TABLE device_requests ADD COLUMN denied_at BIGINT; -- when the person denied it
CREATE INDEX device_requests_by_person ON device_requests (client_id, person) WHERE person IS NOT NULL;
CREATE INDEX device_requests_by_user ON device_requests (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX device_requests_by_end ON device_requests (expires_at) WHERE person IS NOT NULL AND decision IS NULL;
