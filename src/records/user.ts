/** Further claims of the scope `profile` (OpenID Connect Core §5.1). */
export const PROFILE_MEMBERS = ['given_name', 'family_name', 'preferred_username', 'locale'] as const
export type Profile = { [K in (typeof PROFILE_MEMBERS)[number]]?: string }

/** The members of a profile that have a value. */
export const profileOf = (from: Profile): Profile =>
  Object.fromEntries(PROFILE_MEMBERS.flatMap((member) => (from[member] ? [[member, from[member]]] : [])))

export interface User extends Profile {
  id: string
  email?: string
  /** Whether an operator or the upstream provider vouches for the email. */
  email_verified: boolean
  name: string
  /** PHC string; federated users have none. */
  password_hash?: string
  role: 'admin' | 'user'
  status: 'active' | 'disabled'
  provider: 'local' | 'oidc'
  /** Issuer and subject of a federated user at the upstream provider; together they identify the account. */
  provider_issuer?: string
  provider_sub?: string
  /** Groups that operators set: sorted, each once. */
  operator_groups: readonly string[]
  /** Groups that the upstream provider named at the last sign-in: sorted, each once. */
  provider_groups: readonly string[]
  version: number
  created_at: number
  updated_at: number
}

/** The groups of a user, those of operators and of the provider together. */
export const groupsOf = ({ operator_groups, provider_groups }: User): string[] =>
  [...new Set([...operator_groups, ...provider_groups])].sort()

/** The name of an account for its user: email, name, or its id at the provider. A user of an upstream provider may have neither email nor name. */
export const accountName = ({ id, email, name, provider_sub = id }: User): string => email || name || provider_sub

/** What access rules and the claims of tokens need to know of a user. */
export interface Person extends Profile, Pick<User, 'id' | 'email' | 'email_verified' | 'name' | 'updated_at'> {
  /** The groups of operators and of the provider. */
  groups: readonly string[]
  isIn: ReadonlySet<string>
}

/** The person of a user record. */
export function personOf(user: User): Person {
  const { id, email, email_verified, name, updated_at } = user
  const groups = groupsOf(user)
  return { id, email, email_verified, name, updated_at, ...profileOf(user), groups, isIn: new Set(groups) }
}

/** A one-time link with which a user sets a password. */
export interface PasswordLink {
  id: string
  user_id: string
  /** SHA-256 of the token in the link (base64url). */
  hash: string
  created_at: number
  expires_at: number
}

export type FactorKind = 'totp' | 'passkey'

/** A second factor of a local user: an authenticator app (RFC 6238) or a passkey (WebAuthn). */
export interface Factor {
  id: string
  user_id: string
  kind: FactorKind
  name: string
  created_at: number
  last_used_at?: number
  /** Secret of an app in base32: encrypted, or in clear where data_encryption is off. */
  secret?: string
  secret_clear?: string
  /** Time step of the last code of the app. Codes of it and of earlier steps are not accepted. */
  last_step?: number
  /** Id, public key (COSE) and signature counter of a passkey; base64url. */
  credential_id?: string
  public_key?: string
  counter?: number
}

/** Maximum number of factors of one kind that a user has. */
export const MAX_FACTORS = 10

/** The names that came to a list and those that went, as events have them. Without such names a part is left out. */
export function nameChange(before: readonly string[], after: readonly string[]) {
  const added = after.filter((name) => !before.includes(name))
  const removed = before.filter((name) => !after.includes(name))
  return { ...(added.length > 0 ? { added } : {}), ...(removed.length > 0 ? { removed } : {}) }
}
