/** An access token of a provider. */
export interface UpstreamToken {
  access_token: string
  /** In the words of the provider, as far as it is known. */
  scope: string[]
  /** When it ends; not known of some. */
  expires_at?: number
  /** Until when it is handed out: a while before its end. Without it, it is handed out once. */
  usable_until?: number
}

/** Why there is no token, where the user can help: there is no connection, its scopes are insufficient, or its credential was lost. */
export type Lack = 'missing' | 'insufficient' | 'lost'

/** The answer to a request for an upstream token. */
export type Renewed = UpstreamToken | Lack
