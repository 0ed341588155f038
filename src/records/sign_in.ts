/** When and how a user signed in, as tokens say it (OpenID Connect Core §2). */
export interface SignIn {
  /** Absent when the upstream provider does not say when the user signed in there: a session there may be old. */
  auth_time?: number
  /** Authentication methods (RFC 8176). Absent when the upstream provider does not name them. */
  amr?: string[]
  /** The session, as applications know it. It is not a credential. Absent for a sign-in before 0.2.1. */
  sid?: string
  /** Authentication context class that the upstream provider asserted. */
  acr?: string
}

/** How a user has signed in, as far as it counts for a requirement. */
export type Proven = Pick<SignIn, 'amr' | 'acr'>

/** Whether two factors were used: `amr` has `mfa` exactly then (RFC 8176), for people of a provider as for local users. */
export const hasTwoFactors = ({ amr }: Proven): boolean => amr?.includes('mfa') ?? false

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
