/** Why a connection ended that the provider refused: it was revoked there, or the answer that had replaced its credential was lost. */
export type ConnectionEnd = 'refused_by_provider' | 'answer_lost'

/** The connection of a user to a provider. */
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
