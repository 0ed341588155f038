export interface Session {
  id: string
  user_id: string
  created_at: number
  expires_at: number
  /** Issuer and session of the upstream provider, when the session began there. */
  oidc_issuer?: string
  oidc_sid?: string
}
