-- Since when nobody knows whether a provider still takes the credential, because an answer was lost; and why a connection ended.
ALTER TABLE broker_grants ADD COLUMN unsure_since BIGINT;
ALTER TABLE broker_grants ADD COLUMN ended_reason TEXT;
