/** When and how a user signed in, as tokens say it (OpenID Connect Core §2). */
export interface SignIn {
  auth_time: number
  /** Authentication methods (RFC 8176). Absent when the upstream provider does not name them. */
  amr?: string[]
  /** Authentication context class that the upstream provider asserted. */
  acr?: string
}

/** What an authorization request required of the sign-in. Another account must satisfy it too. */
export interface RequiredSignIn {
  max_age?: number
  /** Names, separated by spaces. */
  acr_values?: string
  /** The request is for this user only. */
  is_for_user?: true
}

/** The sign-in of an authorization request, with the nonce that its ID token repeats. */
export interface RequestedSignIn extends SignIn {
  nonce?: string
  required?: RequiredSignIn
}
