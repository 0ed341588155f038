import type { AuthorizationDetail } from './authorization_details.ts'
import type { AccessTokenTyp } from './resource.ts'

/** The `act` claim (RFC 8693 §4.1): the current actor, with the previous actors nested in it. */
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
  /** What was granted beside the scope (RFC 9396). */
  authorization_details?: AuthorizationDetail[]
  issued_at: number
  expires_at: number
  kid: string
  jkt?: string
  act?: Actor
  is_agent: boolean
  family_id?: string
  consent_id?: string
  parent_id?: string
  /** The provider of a vended token; absent for a token of this service. */
  broker_provider?: string
  ip: string
  /** The token was issued for a retried refresh request (`oauth.refresh_grace`). */
  retry?: boolean
  /** Type of the token; at+jwt where it is undefined. */
  typ?: AccessTokenTyp
  revoked_at?: number
}
