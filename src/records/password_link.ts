/** A one-time link with which a user sets a password. */
export interface PasswordLink {
  id: string
  user_id: string
  /** SHA-256 of the token in the link (base64url). */
  hash: string
  created_at: number
  expires_at: number
}
