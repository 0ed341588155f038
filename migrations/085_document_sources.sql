-- expand: an older instance ignores the columns: it fetches a document that an operator keeps, and follows it.
-- The documents of clients (CIMD): who keeps the document of a client, when it was last fetched, and why it cannot be fetched.
ALTER TABLE clients ADD COLUMN document_source TEXT;         -- fetched, stored; null: fetched
ALTER TABLE clients ADD COLUMN document_fetched_at BIGINT;   -- of the last good copy
ALTER TABLE clients ADD COLUMN document_error TEXT;          -- null: the last fetch succeeded
CREATE INDEX clients_failing_documents ON clients (client_id) WHERE document_error IS NOT NULL;
