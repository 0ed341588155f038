/** What a client metadata document says about its client. */
export interface DocumentFields {
  client_name: string
  redirect_uris: string[]
  grant_types: string[]
  application_type: 'web' | 'native'
  scope: string
}

export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post'

export interface Client extends DocumentFields {
  client_id: string
  /** SHA-256 of the secret; public clients have none. */
  secret_hash?: string
  response_types: string[]
  token_endpoint_auth_method: AuthMethod
  status: 'active' | 'suspended'
  registration_source: 'admin' | 'dcr' | 'cimd'
  is_agent: boolean
  agent_description: string
  dpop_bound_access_tokens: boolean
  /** Counts the writes; 0 for the client of a document that is not stored yet. */
  version: number
  issued_at: number
  updated_at: number
  /** When it was last given a token, to the day; kept for clients that registered themselves. */
  last_used_at?: number
  /** Resource of a client_credentials request that names none: the URI of a registered resource. Only operators set it. */
  default_resource?: string
  /**
   * What an operator set of a client that is a document: its fields are what is left of that and of the document. Of a client
   * that registered itself: the scope, which is a limit from then on.
   */
  operator_set?: Partial<DocumentFields>
  /** What the document itself says, where an operator set something. */
  document?: DocumentFields
}
