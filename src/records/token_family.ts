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
  consent_id?: string
  authorization_id: string
  jkt?: string
  /** The sign-in of its authorization request. */
  sign_in?: SignIn
  created_at: number
  revoked_at?: number
}
