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
