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
