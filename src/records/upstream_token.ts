/** An access token of a provider. */
export interface UpstreamToken {
  access_token: string
  /** The scope names of the provider, as far as they are known. */
  scope: string[]
  /** When it expires; absent when the provider does not say. */
  expires_at?: number
  /** The time until which it is handed out, which is earlier than its expiry. Without this time it is handed out once. */
  usable_until?: number
}

/** Why there is no token, where the user can help: there is no connection, its scopes are insufficient, or its credential was lost. */
export type NoTokenReason = 'missing' | 'insufficient' | 'lost'

/** The result of the renewal of an upstream token. */
export type RenewalResult = UpstreamToken | NoTokenReason
