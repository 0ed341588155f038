import type { Jwk } from './jwk.ts'
import type { RareMembers } from './rare_members.ts'

/** The fields of a client metadata document. */
export interface DocumentFields {
  client_name: string
  redirect_uris: string[]
  grant_types: string[]
  application_type: 'web' | 'native'
  scope: string
}

/** The methods that prove a client. */
export const CONFIDENTIAL_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
/** The methods that clients may register. */
export const AUTH_METHODS = ['none', ...CONFIDENTIAL_METHODS] as const
/** The methods of clients that operators create. Only operators may trust a workload identity. */
export const OPERATOR_AUTH_METHODS = [...AUTH_METHODS, 'federated_jwt'] as const
export type AuthMethod = (typeof OPERATOR_AUTH_METHODS)[number]

/** A set of public keys (RFC 7517 §5). */
export interface JwkSet {
  readonly keys: readonly Jwk[]
}

/** A workload identity that may act as a client: tokens of this issuer about this subject. */
export interface FederatedCredential {
  readonly issuer: string
  readonly subject: string
  readonly audience?: string
  readonly claims?: Readonly<Record<string, string>>
  readonly jwks_uri?: string
}

/** A secret of a client. Only its hash is stored. */
export interface ClientSecret {
  id: string
  /** SHA-256 of the secret. */
  hash: string
  created_at: number
  /** The second from which it is refused. The current secret has none. */
  expires_at?: number
  /** When it was last used, at most an hour late. */
  last_used_at?: number
}

/** The limits of one client. An absent one is that of the configuration; 0 is none. */
export interface ClientLimits {
  requests_per_second?: number
  /** Tokens of one day (UTC). */
  tokens_per_day?: number
}

/** How a client authenticates. */
export interface ClientAuthentication {
  token_endpoint_auth_method: AuthMethod
  /** Every method that the client may use. Only for a metadata document that names several; then the first is none. */
  token_endpoint_auth_methods_supported?: AuthMethod[]
  /** The public keys that verify its assertions (private_key_jwt), or the URL where they are published. */
  jwks?: JwkSet
  jwks_uri?: string
}

export interface Client extends DocumentFields, ClientAuthentication, RareMembers {
  client_id: string
  /** The newest first. Absent when the client has no secret by its authentication method. */
  secrets?: readonly ClientSecret[]
  response_types: string[]
  /** Where a browser may return after a logout (OpenID Connect RP-Initiated Logout 1.0). */
  post_logout_redirect_uris?: string[]
  /** Only for federated_jwt. */
  federated_credentials?: FederatedCredential[]
  status: 'active' | 'suspended'
  registration_source: 'admin' | 'dcr' | 'cimd'
  is_agent: boolean
  agent_description: string
  dpop_bound_access_tokens: boolean
  /** Number of writes; 0 for the client of a document that is not stored yet. */
  version: number
  issued_at: number
  updated_at: number
  /** Day of the last token. Only recorded for clients that registered themselves. */
  last_used_at?: number
  /** URI of the registered resource for client_credentials requests without a resource. Only operators set it. */
  default_resource?: string
  /** Only operators set them. */
  limits?: ClientLimits
  /**
   * For a client with a metadata document: the fields that an operator has set. The client has only what these and the document
   * both allow. For a client that registered itself: the scope that an operator has set, which is a limit from then on.
   */
  operator_set?: Partial<DocumentFields>
  /** The fields of the document itself, when an operator has set any. */
  document?: DocumentFields
  /** Only for a client with a metadata document. An operator keeps a stored one: it is never fetched. Absent: fetched. */
  document_source?: 'fetched' | 'stored'
  /** The stored document as it was given, also with what the client does not have from it. Absent for a fetched one. */
  kept_document?: Record<string, unknown>
  /** When the document that the client has was fetched. Absent for one that no host sent, and for a client of an older version. */
  document_fetched_at?: number
  /** Why the last fetch of the document failed, with the reason. Absent when it succeeded. */
  document_error?: string
}

/** Days within which a deleted client or resource can be restored. */
export const RESTORABLE_DAYS = 7

/** A client that asked for approval, and what an operator has decided. */
export interface ClientRequest {
  id: string
  client_id: string
  client_name: string
  redirect_hosts: readonly string[]
  /** URI of the resource that was asked for last. */
  resource?: string
  /** Id of the user who asked first. */
  requested_by: string
  /** Number of authorization requests. */
  count: number
  status: 'waiting' | 'approved' | 'denied'
  /** Epoch seconds. */
  first_at: number
  last_at: number
}

/** The reason of a document whose host says that it no longer exists. */
export const DOCUMENT_GONE = 'client_document_gone'
/** Whether the host of the document of a client has ended the client. */
export const isDocumentGone = ({ document_error }: Client): boolean =>
  document_error?.endsWith(`(${DOCUMENT_GONE})`) ?? false
