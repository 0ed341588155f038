-- An index over federated_credentials of clients, so that a token finds its client by issuer and subject.
CREATE TABLE federated_subjects (
  lookup    BYTEA NOT NULL,                       -- SHA-256 of the issuer and the subject, or of the issuer and the parts of a pattern before its first `*`
  client_id TEXT NOT NULL,
  subject   TEXT NOT NULL
);
CREATE INDEX federated_subjects_by_lookup ON federated_subjects (lookup);
CREATE INDEX federated_subjects_by_client ON federated_subjects (client_id);
