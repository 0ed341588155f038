-- What an operator set of a client that is a document (JSON), and what the document itself says beside it: the other columns hold
-- what is left of both.
ALTER TABLE clients ADD COLUMN operator_set TEXT;
ALTER TABLE clients ADD COLUMN document TEXT;
