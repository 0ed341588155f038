export interface RefreshToken {
  id: string
  family_id: string
  hash: string
  expires_at: number
  consumed_at?: number
  /** Id of the token that replaced it. Only set when that token can be derived from this one (`oauth.refresh_grace`). */
  next_id?: string
}
