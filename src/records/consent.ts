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
