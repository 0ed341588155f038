// What the admin API answers, as far as the page reads it.

export interface Client {
  client_id: string
  client_name: string
  redirect_uris: string[]
  grant_types: string[]
  token_endpoint_auth_method: string
  application_type: string
  scope: string
  agent: boolean
  agent_description: string
  dpop_bound_access_tokens: boolean
  status: 'active' | 'suspended'
  registration_source: 'admin' | 'dcr' | 'cimd'
  issued_at: string
  updated_at: string
  last_used_at?: string
  tokens_24h?: number
}
export interface User {
  id: string
  email: string
  name: string
  role: string
  status: 'active' | 'disabled'
  provider: string
  created_at: string
  updated_at: string
}
export interface Issuance {
  id: string
  grant_type: string
  sub: string
  subject_user_id?: string
  client_id: string
  resource: string
  scope: string
  token_type: string
  issued_at: string
  expires_at: string
  revoked_at?: string
  jkt?: string
  parent_jti?: string
  kid: string
  ip: string
}
export interface Resource {
  id: string
  slug: string
  uri: string
  backend_kind: string
  broker_provider_slug: string
  display_name: string
  scopes: { name: string; description?: string; upstream?: string }[]
  policy: {
    exchange: { allowed_client_ids: string[] }
    runtime: { client_ids: string[] }
    connect?: { allowed_return_urls: string[] }
  }
  created_at: string
  updated_at: string
}
