-- When a client that registered itself was last given a token, to the day; those that never were may be reaped.
ALTER TABLE clients ADD COLUMN last_used_at BIGINT;
