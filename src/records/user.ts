export interface User {
  id: string
  email?: string
  name: string
  /** PHC string; federated users have none. */
  password_hash?: string
  role: 'admin' | 'user'
  status: 'active' | 'disabled'
  provider: 'local' | 'oidc'
  /** Issuer and subject of a federated user at the upstream provider; together they identify the account. */
  provider_issuer?: string
  provider_sub?: string
  version: number
  created_at: number
  updated_at: number
}
