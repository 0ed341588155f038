/** The kind of an encrypted value. Encryption at rest authenticates it together with the value. */
export type SealPurpose = 'signing_key' | 'broker_grant' | 'event_receiver' | 'factor' | 'backup'
