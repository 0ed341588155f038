import type { ResourceScope } from './resource.ts'

/** The access of a client that a user allowed: a consent for a resource, or the sign-ins without a resource. */
export interface Application {
  client_id: string
  client_name: string
  /** What the consent is for: the id of a resource, or `openid`. Undefined for sign-ins without a consent. */
  resource_id?: string
  resource?: { id: string; uri?: string; display_name: string; scopes: ResourceScope[] }
  scope: string
  created_at: number
  /** When the newest token was issued. Undefined when no token of the access is among the newest tokens of the user. */
  last_used_at?: number
  /** The access was not used after this time, because all newer tokens of the user are for other applications. */
  unused_since?: number
}
