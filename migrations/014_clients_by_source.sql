-- Lists of the clients that registered in one way, or are in one state, where few of many are.
CREATE INDEX clients_by_source ON clients (registration_source, issued_at, client_id);
CREATE INDEX clients_by_status ON clients (status, issued_at, client_id);
