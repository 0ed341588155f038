/** A connect flow in progress: the user has been sent to the provider and has not returned. */
export interface ConnectState {
  id: string
  user_id: string
  broker_provider_id: string
  resource_id: string
  return_url: string
  /** Requested upstream scopes, space-separated. */
  scope: string
  expires_at: number
}
