import type { AskedDetails } from './authorization_details.ts'
import type { Client } from './client.ts'
import type { RequestedSignIn } from './sign_in.ts'

/** An authorization request in each of its states: waiting for consent, with a code, with a consumed code. */
export interface AuthorizationRequest {
  id: string
  client_id: string
  user_id: string
  /** The session in which it was made, or decided. Its end ends an unused code, but not a request that waits for a decision. */
  session_id: string
  /** Empty for the request of a device (RFC 8628): nothing is sent to a client. */
  redirect_uri: string
  /** The request named the redirect_uri, so the token request must too. */
  redirect_uri_sent: boolean
  scope: string
  /** What the request asked for: its scope parameter, or what was assumed without one. `scope` is the part that is granted. */
  asked_scope?: string
  resource?: string
  /** What it asks for beside the scope (RFC 9396), and what the person allowed of it. */
  authorization_details?: AskedDetails
  state?: string
  /** How the response is sent. Undefined: in the query of the redirect URI. */
  response_mode?: 'form_post'
  code_challenge: string
  dpop_jkt?: string
  /** Only for a request that asked for it: with the scope `openid`, `max_age` or `acr_values`. */
  sign_in?: RequestedSignIn
  /** The client as it was shown to the user; only when the client is not stored yet. */
  client?: Client
  /** The query of the request as the browser sent it, encrypted with a key that only the browser has. */
  sealed?: string
  /** The pushed request (RFC 9126) that it answers. */
  pushed_id?: string
  consent_id?: string
  code_hash?: string
  code_expires_at?: number
  consumed_at?: number
  denied_at?: number
  created_at: number
  expires_at: number
}
