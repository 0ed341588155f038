-- A client metadata document becomes a row of clients when a user consents. Until then the client is kept with the request that
-- waits for the decision, as JSON, so that any instance can show it and store exactly what was shown.
ALTER TABLE authorization_requests ADD COLUMN client TEXT;
