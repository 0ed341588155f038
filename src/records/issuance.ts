/** The `act` claim (RFC 8693 §4.1): the current actor, with the ones before it inside. */
export interface Actor {
  sub: string
  actor_type?: string
  act?: Actor
}

/** The record of one issued token; its id is the jti. */
export interface Issuance {
  id: string
  /** Name of the grant: `client_credentials`, `token_exchange`, … */
  grant_type: string
  client_id: string
  sub: string
  resource?: string
  scope: string
  issued_at: number
  expires_at: number
  kid: string
  jkt?: string
  act?: Actor
  is_agent: boolean
  family_id?: string
  consent_id?: string
  parent_id?: string
  /** The provider whose token was vended; none for a token of ours. */
  broker_provider?: string
  ip: string
  /** The token answers the retry of a refresh request (`oauth.refresh_grace`). */
  retry?: boolean
  revoked_at?: number
}
