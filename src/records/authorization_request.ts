import type { Client } from './client.ts'

/** An authorize request that waits for consent, then its code, then its consumed code. */
export interface AuthorizationRequest {
  id: string
  client_id: string
  user_id: string
  session_id: string
  redirect_uri: string
  /** The request named the redirect_uri, so the token request must too. */
  redirect_uri_sent: boolean
  scope: string
  /** What the request asked for: its scope parameter, or what was assumed without one. `scope` is the part that is granted. */
  asked_scope?: string
  resource?: string
  state?: string
  code_challenge: string
  dpop_jkt?: string
  /** The client as it was shown to the user, while it is not stored. */
  client?: Client
  consent_id?: string
  code_hash?: string
  code_expires_at?: number
  consumed_at?: number
  created_at: number
  expires_at: number
}
