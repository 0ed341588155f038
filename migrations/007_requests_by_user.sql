-- Signing a user out ends the codes and requests that are under way.
CREATE INDEX requests_by_user ON authorization_requests (user_id) WHERE consumed_at IS NULL;
