/** One sign-in of a user in a browser. `created_at` is the time of the authentication: the `auth_time` of OpenID Connect. */
export interface Session {
  id: string
  user_id: string
  created_at: number
  expires_at: number
  /** Issuer and session of the upstream provider, when the user signed in there. Without an issuer the user signed in with a password. */
  oidc_issuer?: string
  oidc_sid?: string
  /** When the user authenticated at the upstream provider, if that was before the sign-in here. */
  auth_time?: number
  /** What the upstream provider says about the authentication: its methods (RFC 8176) and its class. */
  amr?: string[]
  acr?: string
  /** The User-Agent header of the sign-in. The browser chose its text. */
  user_agent?: string
  /** The address that the sign-in came from. */
  ip?: string
  /** When a request last had the session. It is written at most once in some minutes. */
  last_used_at?: number
}

/** An application that a user signed in to within a session, and that wants to know when the session ends. */
export interface ApplicationSession {
  id: string
  session_id: string
  client_id: string
  /** The session in its ID tokens. */
  sid: string
  user_id: string
  expires_at: number
}

/** A logout that an application has not accepted yet. */
export interface DueLogout extends Omit<ApplicationSession, 'session_id'> {
  /** Number of failed attempts. */
  attempts: number
}
