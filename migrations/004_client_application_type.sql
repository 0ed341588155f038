-- Rows that predate the column have none and read as web.
ALTER TABLE clients ADD COLUMN application_type TEXT;
