/** Why a connection ended: the provider refused its credential, or the response with the replacement credential was lost. */
export type ConnectionEnd = 'refused_by_provider' | 'answer_lost'

/** The connection of a user to a provider. */
export interface BrokerGrant {
  id: string
  user_id: string
  broker_provider_id: string
  /** Encrypted; absent after the connection is revoked. */
  credential?: string
  /** Upstream scopes, space-separated. */
  scopes_granted: string
  /** Expiry of the lease whose holder may request a new token from the provider. */
  leased_until?: number
  /** The time since which a response of the provider is missing that may have replaced the credential. */
  unsure_since?: number
  /** Set when the provider no longer accepted the credential. */
  ended_reason?: ConnectionEnd
  version: number
  created_at: number
  updated_at: number
  revoked_at?: number
}

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
