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
