/** An identity provider whose ID-JAG assertions are accepted, and with `subject_tokens` its access tokens and ID tokens as subject tokens. */
export interface Idp {
  id: string
  name: string
  /** The `iss` of its assertions; compared byte by byte. */
  issuer: string
  /** The required `aud` of its assertions. */
  audience: string
  jwks_uri: string
  enabled: boolean
  /** Whether its access tokens and ID tokens are accepted as subject tokens of a token exchange. */
  subject_tokens: boolean
  /** One of these must be in the `aud` of a subject token. */
  audiences: string[]
  version: number
  created_at: number
  updated_at: number
}

/** The local user of a subject of an identity provider. */
export interface SubjectMapping {
  id: string
  idp_id: string
  mode: 'explicit'
  federated_subject: string
  local_subject: string
  created_at: number
}

/** A policy that allows assertions of an identity provider to be redeemed. */
export interface XaaPolicy {
  id: string
  idp_id: string
  name: string
  /** An empty list allows every client. */
  client_ids: string[]
  /** Limits the issued scope. Undefined sets no limit; an empty list allows no scope. */
  scopes?: string[]
  /** An empty list allows every resource, and requests without a resource. */
  resources: string[]
  enabled: boolean
  version: number
  created_at: number
  updated_at: number
}
