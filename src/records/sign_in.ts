/** When and how a user signed in, as tokens say it (OpenID Connect Core §2). */
export interface SignIn {
  auth_time: number
  /** Authentication methods (RFC 8176). Absent when the upstream provider does not name them. */
  amr?: string[]
  /** Authentication context class that the upstream provider asserted. */
  acr?: string
}

/** The sign-in of an authorization request, with the nonce that its ID token repeats. */
export interface RequestedSignIn extends SignIn {
  nonce?: string
}
