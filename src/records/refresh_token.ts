export interface RefreshToken {
  id: string
  family_id: string
  hash: string
  expires_at: number
  consumed_at?: number
  /** The token that replaced it, where the text of that one can be derived from this one (`oauth.refresh_grace`). */
  next_id?: string
}
