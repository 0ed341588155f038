/** A browser that is signed in to the admin page: as a person, or with a key that was created at run time or is in the configuration. */
export interface AdminSession {
  id: string
  /** SHA-256 of the cookie. */
  hash: string
  user_id?: string
  api_key_id?: string
  /** A MAC of the key of the configuration. */
  config_key?: string
  created_at: number
  expires_at: number
}
