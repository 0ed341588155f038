export interface User {
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

/** What names the account to its user. A user of an upstream provider may have neither email nor name. */
export const accountName = ({ id, email, name, provider_sub = id }: User): string => email || name || provider_sub
