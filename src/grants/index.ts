// The grants of the token endpoint. From this list come dispatch, metadata and what clients may register for.
import type { App } from '../app.ts'
import type { Config } from '../config/schema.ts'
import type { Params, Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import type { AuditAction } from '../oauth/audit_events.ts'
import type { Proof } from '../oauth/dpop.ts'
import type { Authorization } from '../oauth/issue.ts'
import type { Client } from '../oauth/types.ts'
import type { CounterName } from '../telemetry/metrics.ts'
import { authorizationCode } from './authorization_code.ts'
import { clientCredentials } from './client_credentials.ts'
import { jwtBearer } from './jwt_bearer.ts'
import { refreshToken } from './refresh_token.ts'
import { tokenExchange } from './token_exchange.ts'

export interface GrantInput {
  request: Request
  form: Params
  client: Client
  /** The DPoP proof of the request. */
  proof?: Proof
}

export interface Grant {
  /** The grant_type on the wire. */
  readonly type: string
  /** The name in records and metric labels. */
  readonly name: string
  /** Which clients may use it at all. */
  readonly clients: 'any' | 'confidential'
  /** The configuration key that switches it on; always on without one. */
  readonly switch?: string
  enabled(config: Config): boolean
  /** Metrics of this grant beside the common ones. */
  readonly counters?: { issued?: CounterName; denied?: CounterName }
  /** What a refusal is recorded as. */
  readonly denied: Extract<AuditAction, `${string}_denied`>
  /** Decides; commits nothing. Throws OAuthError. */
  run(app: App, input: GrantInput): Promise<Authorization>
}

/** In the order of the metadata. */
export const grants: readonly Grant[] = [authorizationCode, refreshToken, clientCredentials, tokenExchange, jwtBearer]

/** Refuses a grant that is switched off. Throws unsupported_grant_type. */
export function checkEnabled({ config }: App, grant: Grant): void {
  if (!grant.enabled(config))
    throw new OAuthError('unsupported_grant_type', `the grant is switched off: ${grant.switch} is false`, {
      reason: 'grant_disabled',
    })
}

/** Refuses a grant to a client that did not register for it. Throws unauthorized_client. */
export function checkRegistered({ grant_types }: Client, { type, name }: Grant): void {
  if (!grant_types.includes(type))
    throw new OAuthError('unauthorized_client', `the client is not registered for ${name}`, {
      reason: 'grant_not_registered',
    })
}

/** The grant types that this server offers as configured. */
export const offeredGrantTypes = (config: Config): string[] =>
  grants.filter((grant) => grant.enabled(config)).map((grant) => grant.type)
