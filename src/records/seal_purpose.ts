/** What a sealed value is: part of what the encryption at rest binds it to. */
export type SealPurpose = 'signing_key' | 'broker_grant' | 'backup'
