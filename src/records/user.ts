export interface User {
  id: string
  email?: string
  name: string
  /** PHC string; federated users have none. */
  password_hash?: string
  role: 'admin' | 'user'
  status: 'active' | 'disabled'
  provider: 'local' | 'oidc'
  /** What the upstream provider of a federated user is called, and what it calls the user: together the key of the account. */
  provider_issuer?: string
  provider_sub?: string
  version: number
  created_at: number
  updated_at: number
}
