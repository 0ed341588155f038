// The records of the service. Fields carry the names of the RFCs and the specification, from HTTP to SQL.
// Times are epoch seconds; ids, hashes and thumbprints are base64url text.
import type { DocumentFields } from './document_fields.ts'

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
  /** Of a client that is a document: what an operator set. Its fields are what is left of that and of the document. */
  operator_set?: Partial<DocumentFields>
  /** What the document itself says, where an operator set something. */
  document?: DocumentFields
}

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

export interface Session {
  id: string
  user_id: string
  created_at: number
  expires_at: number
}

export interface ResourceScope {
  name: string
  description: string
  upstream: string
}
export interface Policy {
  exchange: { allowed_client_ids: string[] }
  runtime: { client_ids: string[] }
  connect: { allowed_return_urls: string[] }
}
export interface Resource {
  id: string
  slug: string
  /** The audience, byte for byte. */
  uri?: string
  backend_kind: 'mint' | 'broker'
  broker_provider_slug?: string
  display_name: string
  scopes: ResourceScope[]
  policy: Policy
  version: number
  created_at: number
  updated_at: number
}

/** What an operator lets a resource in front of another one, a gateway, obtain there. */
export interface FrontingLink {
  source_slug: string
  target_slug: string
  /** For a scope of the source, the scopes of the target that it may become. */
  scope_map: Record<string, string[]>
  /** As in the audit trail. */
  created_by: string
  created_at: number
  updated_at: number
}

/** What a user allowed a client to do at a resource. */
export interface Consent {
  id: string
  user_id: string
  client_id: string
  resource_id: string
  scope: string
  /** The hosts that were shown, each with the scope that was allowed when the browser was to go there. */
  redirect_hosts: Record<string, string>
  created_at: number
  updated_at: number
  revoked_at?: number
}

/** An authorize request that waits for consent, then its code, then its consumed code. */
export interface AuthorizationRequest {
  id: string
  client_id: string
  user_id: string
  session_id: string
  redirect_uri: string
  /** The request named the redirect_uri, so the token request must too. */
  redirect_uri_sent: boolean
  scope: string
  resource?: string
  state?: string
  code_challenge: string
  dpop_jkt?: string
  /** The client as it was shown to the user, while it is not stored. */
  client?: Client
  consent_id?: string
  code_hash?: string
  code_expires_at?: number
  consumed_at?: number
  created_at: number
  expires_at: number
}

/** The lineage of one sign-in. */
export interface Family {
  id: string
  client_id: string
  user_id: string
  scope: string
  resource?: string
  consent_id?: string
  authorization_id: string
  jkt?: string
  created_at: number
  revoked_at?: number
}

export interface RefreshToken {
  id: string
  family_id: string
  hash: string
  expires_at: number
  consumed_at?: number
  /** The token that replaced it, where the text of that one can be derived from this one (`oauth.refresh_grace`). */
  next_id?: string
}

/** The `act` claim (RFC 8693 §4.1): the current actor, with the ones before it inside. */
export interface Actor {
  sub: string
  actor_type?: string
  act?: Actor
}

/** The record of one issued token; its id is the jti. */
export interface Issuance {
  id: string
  /** Name of the grant: `client_credentials`, `token_exchange`, … */
  grant_type: string
  client_id: string
  sub: string
  resource?: string
  scope: string
  issued_at: number
  expires_at: number
  kid: string
  jkt?: string
  act?: Actor
  is_agent: boolean
  family_id?: string
  consent_id?: string
  parent_id?: string
  /** The provider whose token was vended; none for a token of ours. */
  broker_provider?: string
  ip: string
  /** The token answers the retry of a refresh request (`oauth.refresh_grace`). */
  retry?: boolean
  revoked_at?: number
}

export interface AuditEvent {
  id: string
  action: string
  /** User id, client id, `admin`, `system`, or empty. */
  actor_id: string
  client_id?: string
  ip: string
  request_id?: string
  detail: Record<string, unknown>
  created_at: number
}

/** What may be used once only, until it would be refused for its age. */
export interface SingleUse {
  id: string
  kind: 'dpop' | 'assertion' | 'oidc_state'
  /** base64url of 16 bytes. */
  hash: string
  expires_at: number
}

/** An identity provider whose ID-JAG assertions are accepted. */
export interface Idp {
  id: string
  name: string
  /** The `iss` of its assertions, byte for byte. */
  issuer: string
  /** The `aud` that they must have. */
  audience: string
  jwks_uri: string
  enabled: boolean
  version: number
  created_at: number
  updated_at: number
}

/** What assertions of an identity provider may be redeemed for. */
export interface XaaPolicy {
  id: string
  idp_id: string
  name: string
  /** Empty: every client. */
  client_ids: string[]
  /** Narrows the issued scope; undefined: no limit, empty: nothing. */
  scopes?: string[]
  /** Empty: every resource, or none. */
  resources: string[]
  enabled: boolean
  version: number
  created_at: number
  updated_at: number
}

/** Who a subject of an identity provider is here. */
export interface SubjectMapping {
  id: string
  idp_id: string
  mode: 'explicit'
  federated_subject: string
  local_subject: string
  created_at: number
}

/** Where upstream tokens are had from. */
export interface BrokerProvider {
  id: string
  slug: string
  display_name: string
  protocol: 'oauth' | 'apikey' | 'service_account'
  /** As it was written; the protocol says what is in it (config/provider_record.ts). */
  config_data: Record<string, unknown>
  version: number
  created_at: number
  updated_at: number
}

/** The connection of a user to a provider. */
/** Why a connection ended that the provider refused: it was revoked there, or the answer that had replaced its credential was lost. */
export type ConnectionEnd = 'refused_by_provider' | 'answer_lost'

export interface BrokerGrant {
  id: string
  user_id: string
  broker_provider_id: string
  /** Sealed; none once it is revoked. */
  credential?: string
  /** Upstream scopes, space-separated. */
  scopes_granted: string
  /** Until when whoever leased it may ask the provider for a new token. */
  leased_until?: number
  /** Since when an answer of the provider is missing that may have replaced the credential. */
  unsure_since?: number
  /** Why it ended, where the provider refused it. */
  ended_reason?: ConnectionEnd
  version: number
  created_at: number
  updated_at: number
  revoked_at?: number
}

/** A user who is on the way to a provider and back. */
export interface ConnectState {
  id: string
  user_id: string
  broker_provider_id: string
  resource_id: string
  return_url: string
  /** Upstream scopes that were asked for, space-separated. */
  scope: string
  expires_at: number
}
