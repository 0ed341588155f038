import type { AuthorizationDetail } from './authorization_details.ts'
import type { SignIn } from './sign_in.ts'

/** All tokens of one sign-in. */
export interface TokenFamily {
  id: string
  client_id: string
  user_id: string
  scope: string
  /** What the authorization request asked for, where it is more than `scope`: a refresh request may repeat it. */
  asked_scope?: string
  resource?: string
  /** What the person allowed (RFC 9396). */
  authorization_details?: AuthorizationDetail[]
  consent_id?: string
  authorization_id: string
  jkt?: string
  /** The sign-in of its authorization request. */
  sign_in?: SignIn
  created_at: number
  revoked_at?: number
}

export interface RefreshToken {
  id: string
  family_id: string
  hash: string
  expires_at: number
  consumed_at?: number
  /** Id of the token that replaced it. Only set when that token can be derived from this one (`oauth.refresh_grace`). */
  next_id?: string
}
