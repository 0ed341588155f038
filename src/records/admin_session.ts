/** A browser that is signed in to the admin page: as a person, or with a key that was created at run time or is in the configuration. */
export interface AdminSession {
  id: string
  /** SHA-256 of the cookie. */
  hash: string
  user_id?: string
  /** Of a person. A session without it, of an older instance, has no capability. */
  identity?: AdminIdentity
  api_key_id?: string
  /** A MAC of the key of the configuration. */
  config_key?: string
  created_at: number
  expires_at: number
}

/** Who signed in, as the provider said at the sign-in. Operators may change the row of the account, but not this. */
export interface AdminIdentity {
  /** The slug of the provider. */
  provider: string
  issuer: string
  subject: string
  groups: readonly string[]
  /** Name in the audit trail. */
  actor_id: string
}
