/** The lineage of one sign-in. */
export interface TokenFamily {
  id: string
  client_id: string
  user_id: string
  scope: string
  resource?: string
  consent_id?: string
  authorization_id: string
  jkt?: string
  created_at: number
  revoked_at?: number
}
